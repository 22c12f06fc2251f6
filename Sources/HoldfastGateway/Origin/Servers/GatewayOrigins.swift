import HoldfastConfiguration
import NIOCore

/// The origins that have settings of their own, ready for use: their files are read.
///
/// ``OriginTransport/prepare(for:_:)`` makes it.
public struct GatewayOrigins: Sendable {
    /// The limits of all other origins.
    let times: OriginTimes
    private(set) var sites: [OriginEndpoint: OriginSite] = [:]
    /// TLS towards origins, by their URLs.
    private(set) var securities: [String: OriginSecurity] = [:]

    /// - Parameters:
    ///   - previous: those in use. Unchanged ones are taken from there.
    /// - Throws: ``OriginTransport/FileFailure`` or ``GatewayOrigin/Refusal``
    init(_ configuration: OriginTransport.Configuration, since previous: GatewayOrigins? = nil) throws {
        times = OriginTimes(configuration)
        var members: [String: Configuration.Origin] = [:]
        for origin in configuration.origins {
            var origin = origin
            // Another line changes nothing.
            origin.line = nil
            members[origin.url] = origin
        }
        for (url, origin) in members where url.hasPrefix("https:") && origin.tls.isSet {
            securities[url] = try Self.security(url, origin.tls, configuration.trustRootsFile, previous)
        }
        for (url, origin) in members {
            let endpoint = try GatewayOrigin(url).endpoint
            let mirrors = try origin.mirrors.map { try GatewayOrigin($0) }
            let plan = OriginSite.Plan(
                settings: origin,
                mirrors: mirrors,
                ofMirrors: mirrors.map { members[$0.name] },
                times: times,
                limitsConnecting: configuration.limitsConnecting
            )
            let known = previous?.sites[endpoint]
            sites[endpoint] =
                known?.plan == plan ? known : OriginSite(plan, endpoint) { [securities] in securities[$0] }
        }
    }

    private static func security(
        _ url: String,
        _ settings: Configuration.Origin.TLS,
        _ commonRoots: String?,
        _ previous: GatewayOrigins?
    ) throws(OriginTransport.FileFailure) -> OriginSecurity {
        if let known = previous?.securities[url], known.settings == settings, known.commonRoots == commonRoots {
            return known
        }
        do throws(CertificateRefusal) {
            return try OriginSecurity(url, settings, commonRoots: commonRoots)
        } catch {
            throw OriginTransport.FileFailure(origin: url, description: "Origin '\(url)': \(error)")
        }
    }

    /// The site of an origin; `nil` if it has no settings.
    func site(of endpoint: OriginEndpoint) -> OriginSite? { sites.isEmpty ? nil : sites[endpoint] }

    /// The sites to which routes lead, in the order of their names. Others have settings only as
    /// mirrors.
    func sites(of routes: GatewayRoutes) -> [OriginSite] {
        Set(routes.routes.map(\.endpoint)).compactMap { sites[$0] }.sorted { $0.name < $1.name }
    }
}
