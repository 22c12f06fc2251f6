import GatewayRouting
import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore
import TLSCertificates

/// The origins that have their own settings, with the contents of their files.
///
/// ``OriginTransport/prepare(for:_:)`` creates a value of this type.
public struct GatewayOrigins: Sendable {
    /// The time limits for all other origins.
    let times: OriginTimes
    private(set) var sites: [OriginEndpoint: OriginSite] = [:]
    /// TLS settings for origins, by URL.
    private(set) var securities: [String: OriginSecurity] = [:]

    /// - Parameters:
    ///   - previous: the settings in use. Unchanged settings are reused.
    /// - Throws: ``OriginTransport/FileFailure`` or `InvalidSetting`
    init(_ configuration: OriginTransport.Configuration, since previous: GatewayOrigins? = nil) throws {
        times = OriginTimes(configuration)
        var members: [String: Configuration.Origin] = [:]
        for origin in configuration.origins {
            var origin = origin
            // A different line number is not a change.
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
            let target = try TargetURI(url)
            let named = OriginEndpoint(namedByClient: target)
            let isNamed = configuration.routes?.proxy?.leads(to: target) == true
            for endpoint in isNamed ? [endpoint, named] : [endpoint] {
                let known = previous?.sites[endpoint]
                sites[endpoint] =
                    known?.plan == plan ? known : OriginSite(plan, endpoint) { [securities] in securities[$0] }
            }
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

    /// Returns the site of an origin; `nil` if the origin has no settings.
    func site(of endpoint: OriginEndpoint) -> OriginSite? { sites.isEmpty ? nil : sites[endpoint] }

    /// Returns the sites that routes lead to, in order of their names. Other sites are used only as
    /// mirrors.
    func sites(of routes: GatewayRoutes) -> [OriginSite] {
        Set(routes.own.map(\.endpoint)).compactMap { sites[$0] }.sorted { $0.name < $1.name }
    }

    /// Drains these servers, by the origin's URL, and ends the drain of all others.
    func drain(_ servers: [String: Set<String>]) {
        for site in sites.values { site.drain(servers[site.name] ?? []) }
    }
}
