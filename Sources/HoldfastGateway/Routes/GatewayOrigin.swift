import HTTPCacheSemantics

/// Where a gateway's responses come from.
public struct GatewayOrigin: Sendable, Hashable {
    /// `http` or `https`.
    public let scheme: String
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, explicit or the scheme's.
    public let port: UInt16
    /// `host`, and the port where it is not the scheme's: what is sent as `Host`.
    public let authority: String
    /// What stands before every request's path; empty, or begins with a slash and ends without one.
    public let pathPrefix: String

    /// Why a text names no origin.
    public struct Refusal: Error, Sendable, CustomStringConvertible {
        /// What is wrong with it, and what is expected.
        public let description: String
    }

    /// - Parameter url: an absolute `http` or `https` URL without query, user information or
    ///   fragment. Its path is put before every request's path.
    /// - Throws: ``Refusal``
    public init(_ url: String) throws {
        let target: TargetURI
        do {
            target = try TargetURI(url)
        } catch {
            throw Refusal(description: "\(error)")
        }
        guard target.query == nil, !url.contains("#") else {
            throw Refusal(description: "An origin has neither query nor fragment; '\(target.redacted)' has one.")
        }
        scheme = target.scheme
        host = target.host
        port = target.port
        authority = target.authority
        pathPrefix = PathPrefix(target.path).text
    }
}
