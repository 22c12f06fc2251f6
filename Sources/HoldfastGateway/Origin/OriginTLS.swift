import NIOSSL
import Synchronization

/// TLS towards origins. Its context is made for the first origin that needs it, because that loads
/// the certificates that the system trusts: without them, origins without TLS can still be reached.
final class OriginTLS: Sendable {
    private let trustRootsFile: String?
    private let made = Mutex<NIOSSLContext?>(nil)

    /// - Parameter trustRootsFile: a PEM file of trusted certificates; `nil`: the system's.
    init(trustRootsFile: String?) { self.trustRootsFile = trustRootsFile }

    /// The context for connections to an origin.
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
    /// The certificates that origins with TLS are checked against cannot be loaded.
    public struct TrustFailure: Error, CustomStringConvertible {
        /// An origin that cannot be reached for that reason.
        public let origin: String
        /// The file of ``Configuration/trustRootsFile``; `nil`: those of the system.
        public let file: String?
        /// The error of NIOSSL.
        public let cause: any Error

        /// A sentence that says what failed, and the next step.
        public var description: String {
            if let file {
                return
                    "The trusted certificates in '\(file)' cannot be loaded (\(cause)), so '\(origin)' cannot be reached. "
                    + "Name a PEM file of certificates that can be read."
            }
            return
                "The certificates that this system trusts cannot be loaded, so '\(origin)' cannot be reached with TLS. "
                + "Usually they are missing: install the package 'ca-certificates', and start again."
        }
    }

    /// Loads the trusted certificates if one of these routes needs them. Call it before
    /// ``reconfigure(routes:)``, so that a change that cannot work is rejected.
    ///
    /// - Throws: ``TrustFailure``
    public func prepare(for routes: GatewayRoutes) throws(TrustFailure) {
        guard let route = routes.routes.first(where: { $0.endpoint.isSecure }) else { return }
        _ = try tls.context(for: route.endpoint)
    }
}
