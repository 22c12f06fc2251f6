import GatewayRouting
import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// A server with an origin's content: the server that the origin's name resolves to, one of the
/// origin's configured addresses, or a mirror.
final class OriginServer: Sendable {
    /// The server's name in metrics and logs, as configured.
    let name: String
    let times: OriginTimes
    /// The server name for TLS, if it differs from the endpoint's.
    let serverName: String?
    /// `nil` if the server has no TLS settings.
    let security: OriginSecurity?
    /// The `Host` to send to the server; `nil` keeps the request's.
    let authority: String?
    /// The path to prepend to a request's path; `nil` if there is none.
    let prefix: PathPrefix?
    /// Converts the fields of the server's responses to the origin's; `nil` if not needed.
    let mirrorFields: MirrorFields?
    /// Whether the server gets requests with credentials unchanged.
    var takesCredentials: Bool { mirrorFields?.takesCredentials ?? true }
    private let place: OriginEndpoint

    /// Creates one of the origin's own servers.
    ///
    /// - Parameter address: the address to connect to; `nil` resolves the origin's name.
    init(
        of endpoint: OriginEndpoint,
        named name: String,
        at address: OriginEndpoint.Address? = nil,
        _ settings: Configuration.Origin?,
        _ security: OriginSecurity?,
        _ times: OriginTimes
    ) {
        var place = endpoint
        place.address = address
        // The operator chose the address.
        if address != nil { place.isNamedByClient = false }
        self.place = place
        self.name = address.map { "\($0)" } ?? name
        self.times = times
        self.security = security
        serverName = settings?.tls.serverName
        (authority, prefix, mirrorFields) = (nil, nil, nil)
    }

    /// Creates a mirror.
    init(
        mirror: GatewayOrigin,
        fields: MirrorFields,
        _ settings: Configuration.Origin?,
        _ security: OriginSecurity?,
        _ times: OriginTimes
    ) {
        place = mirror.endpoint
        name = mirror.name + mirror.pathPrefix
        self.times = times
        self.security = security
        serverName = settings?.tls.serverName
        authority = mirror.authority
        mirrorFields = fields
        prefix = mirror.pathPrefix.isEmpty ? nil : PathPrefix(mirror.pathPrefix)
    }

    /// The endpoint to connect to. It changes when the certificate files change, so that existing
    /// connections take no more requests.
    var endpoint: OriginEndpoint {
        guard let security else { return place }
        var place = place
        place.revision = security.revision
        return place
    }

    /// Returns the path and query of a request to this server.
    func path(for path: String) -> String {
        guard let prefix, path.hasPrefix("/") else { return path }
        return prefix.path(before: path[...])
    }
}
