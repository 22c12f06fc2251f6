import HTTPCacheSemantics

/// An origin server of a gateway.
public struct GatewayOrigin: Sendable, Hashable {
    /// `http` or `https`.
    public let scheme: String
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, explicit or the scheme's default.
    public let port: UInt16
    /// `host`, and the port if it is not the scheme's default. It is sent as `Host`.
    public let authority: String
    /// The path to prepend to every request's path. It is empty, or has a leading slash and no
    /// trailing one.
    public let pathPrefix: String

    /// - Parameter url: an absolute `http` or `https` URL without query, user information, fragment
    ///   and dot segments. Its path is prepended to every request's path.
    /// - Throws: `InvalidSetting` if the text is not an origin.
    public init(_ url: String) throws {
        let target: TargetURI
        do {
            target = try TargetURI(url)
        } catch {
            throw InvalidSetting("\(error)")
        }
        guard target.query == nil, !url.contains("#") else {
            throw InvalidSetting("An origin cannot have a query or a fragment; '\(target.redacted)' has one.")
        }
        guard !PathNormalForm.hasDotSegment(target.path) else {
            throw InvalidSetting(
                "An origin's path cannot have dot segments; '\(target.redacted)' has one. Write the resolved path."
            )
        }
        scheme = target.scheme
        host = target.host
        port = target.port
        authority = target.authority
        pathPrefix = PathPrefix(target.path).text
    }
}

extension GatewayOrigin {
    /// `https://a.example`, as in the label `origin` and the log.
    package var name: String { "\(scheme)://\(authority)" }

    package var endpoint: OriginEndpoint { OriginEndpoint(isSecure: scheme == "https", host: host, port: port) }
}
