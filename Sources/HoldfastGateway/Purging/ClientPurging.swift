/// Performs the purges that clients request with the method PURGE.
///
/// The gateway has no tokens and no history. A program that has both passes a value of this type to
/// the gateway. Otherwise, every PURGE is rejected.
public protocol ClientPurging: Sendable {
    /// Returns the client's name for the log and the history; `nil` if the client may not purge.
    ///
    /// This is called on the client's event loop, so it must not wait.
    ///
    /// - Parameters:
    ///   - credentials: the values of the request's `Authorization` fields.
    ///   - address: the client's IP address.
    func client(presenting credentials: [String], from address: String) -> String?

    /// Performs a purge. When this returns a success, the purge is in effect. It is also durable,
    /// unless the disk is full.
    func perform(_ purge: ClientPurge, by client: String) async -> ClientPurgeResponse
}

/// A purge that a client requested.
public struct ClientPurge: Sendable, Hashable {
    /// The target URIs at the origin, as responses are stored; empty if tags are named.
    public var urls: [String] = []
    /// The URL that the client requests, which the other nodes of a fleet resolve by their own
    /// routes; `nil` if tags are named, or if the request has no host.
    public var clientURL: String?
    /// The tags of responses.
    public var tags: [String] = []
    /// Whether to also remove offline copies. If `false`, the responses only expire.
    public var removes = false

    /// Creates an empty purge.
    public init() {}
}

/// The response to a purge.
public struct ClientPurgeResponse: Sendable, Hashable {
    /// The status.
    public var status: Int
    /// The result, or a problem (RFC 9457) if the status is an error.
    public var json: [UInt8]
    /// The number of seconds to wait before retrying; `nil` if not stated.
    public var retryAfter: Int?

    /// Creates a response.
    public init(status: Int, json: [UInt8], retryAfter: Int? = nil) {
        self.status = status
        self.json = json
        self.retryAfter = retryAfter
    }
}
