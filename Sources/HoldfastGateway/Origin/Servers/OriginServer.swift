import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// A server that has an origin's content: the one that its name leads to, one of its addresses, or
/// a mirror.
final class OriginServer: Sendable {
    /// Its name in metrics and logs, as the configuration has it.
    let name: String
    let times: OriginTimes
    /// The name in TLS, if it is not that of the endpoint.
    let serverName: String?
    /// `nil` if it has no settings of TLS.
    let security: OriginSecurity?
    /// The `Host` that it gets; `nil` for that of the request.
    let authority: String?
    /// The path that is put before a request's path; `nil` if there is none.
    let prefix: PathPrefix?
    /// Makes the fields of its responses the origin's; `nil` if they are already.
    let mirrorFields: MirrorFields?
    /// Whether it gets requests with credentials, as they are.
    var takesCredentials: Bool { mirrorFields?.takesCredentials ?? true }
    private let place: OriginEndpoint

    /// A server of the origin itself.
    ///
    /// - Parameter address: where it is reached; `nil`: by the address of its name.
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
        self.place = place
        self.name = address.map { "\($0)" } ?? name
        self.times = times
        self.security = security
        serverName = settings?.tls.serverName
        (authority, prefix, mirrorFields) = (nil, nil, nil)
    }

    /// A mirror.
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

    /// Where it is connected to. It differs when the files of its certificates have changed: a
    /// connection that was opened before takes no further request.
    var endpoint: OriginEndpoint {
        guard let security else { return place }
        var place = place
        place.revision = security.revision
        return place
    }

    /// The path and query of a request there.
    func path(for path: String) -> String {
        guard let prefix, path.hasPrefix("/") else { return path }
        return prefix.path(before: path[...])
    }
}
