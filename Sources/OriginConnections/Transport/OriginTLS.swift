public import GatewayRouting
import NIOSSL
import Synchronization
public import TLSCertificates

/// TLS for origin connections. The context is created for the first origin that needs it, because
/// creating it loads the system's trusted certificates. If these are missing, origins without TLS
/// still work.
final class OriginTLS: Sendable {
    private let trustRootsFile: String?
    private let made = Mutex<NIOSSLContext?>(nil)

    /// - Parameter trustRootsFile: a PEM file of trusted certificates; `nil` for the certificates
    ///   that the system trusts.
    init(trustRootsFile: String?) { self.trustRootsFile = trustRootsFile }

    /// Returns the TLS context for connections to an origin.
    ///
    /// - Throws: ``OriginTransport/TrustFailure``
    func context(for endpoint: OriginEndpoint) throws(OriginTransport.TrustFailure) -> NIOSSLContext {
        do {
            return try made.withLock { made in
                if let made { return made }
                var configuration = TLSConfiguration.makeClientConfiguration()
                configuration.applicationProtocols = ["http/1.1"]
                if let trustRootsFile { configuration.trustRoots = .file(trustRootsFile) }
                let context = try NIOSSLContext(configuration: configuration)
                made = context
                return context
            }
        } catch {
            throw OriginTransport.TrustFailure(origin: "\(endpoint)", file: trustRootsFile, cause: error)
        }
    }
}

extension OriginTransport {
    /// The error if the trusted certificates for origins with TLS cannot be loaded.
    public struct TrustFailure: Error, CustomStringConvertible {
        /// An origin that cannot be reached because of this error.
        public let origin: String
        /// The file of ``Configuration/trustRootsFile``; `nil` for the system's certificates.
        public let file: String?
        /// NIOSSL's error.
        public let cause: any Error

        /// A sentence that states what failed, and the next step.
        public var description: String {
            if let file {
                return
                    "The trusted certificates in '\(file)' cannot be loaded (\(cause)), so '\(origin)' cannot be reached. "
                    + "Name a readable PEM file of certificates."
            }
            return
                "The certificates that this system trusts cannot be loaded, so '\(origin)' cannot be reached with TLS. "
                + "Usually they are missing: install the package 'ca-certificates', and start again."
        }
    }

    /// The error if a TLS file of an origin cannot be used.
    public struct FileFailure: Error, CustomStringConvertible {
        /// The origin.
        public let origin: String
        /// A sentence that states what failed, and the next step.
        public let description: String
    }

    /// Reads the origins' files, and loads the trusted certificates if one of these routes needs
    /// them. Call this before ``reconfigure(routes:origins:)``, so that a change that cannot work
    /// is rejected.
    ///
    /// - Parameter configuration: the origins' settings and the time limits; `nil` keeps the
    ///   current values.
    /// - Throws: ``TrustFailure``, ``FileFailure``
    @discardableResult
    public func prepare(for routes: GatewayRoutes, _ configuration: Configuration? = nil) throws -> GatewayOrigins {
        let known = routesInUse.withLock { $0.origins }
        let origins = try configuration.map { try Self.read($0, since: known) } ?? known
        try tls.prepare(for: routes, origins)
        return origins
    }

    static func read(_ configuration: Configuration, since known: GatewayOrigins?) throws -> GatewayOrigins {
        try GatewayOrigins(configuration, since: known)
    }

    /// Reloads the origins' files. Unusable files change nothing, and an error is logged. If the
    /// contents changed, new connections use them, and existing ones take no more requests.
    ///
    /// Reads files, so do not call this function on an event loop.
    public func reloadCertificates(_ selection: CertificateSelection = .all) {
        for security in routesInUse.withLock({ $0.origins }).securities.values {
            guard let reading = security.reload(selection) else { continue }
            reading.log(to: logger)
        }
    }

    /// Why files of origins could not be used when they were last read, a sentence each.
    package var rejectedFiles: [String] {
        routesInUse.withLock { $0.origins }.securities.values.compactMap { $0.refusal?.description }.sorted()
    }
}

extension OriginTLS {
    /// Loads the trusted certificates if the origin of one of these routes, or a mirror, needs
    /// them.
    ///
    /// - Throws: ``OriginTransport/TrustFailure``
    func prepare(for routes: GatewayRoutes, _ origins: GatewayOrigins) throws(OriginTransport.TrustFailure) {
        for route in routes.own {
            let endpoints: [OriginEndpoint] =
                if let site = origins.site(of: route.endpoint) {
                    site.servers.filter { $0.security == nil }.map(\.endpoint)
                } else { [route.endpoint] }
            if let endpoint = endpoints.first(where: \.isSecure) {
                _ = try context(for: endpoint.named)
                return
            }
        }
    }
}
