public import Logging

/// An origin's address, and the freshness of its responses.
public struct OriginConfiguration: Sendable {
    /// The largest `max-age`. RFC 9111 §1.2.2 requires caches to support values up to 2³¹, and
    /// larger values mean the same.
    public static let largestMaxAge = 2_147_483_648

    /// The address to listen on; loopback by default.
    public var host: String
    /// The port to listen on; 0 selects a free port.
    public var port: Int
    /// The `max-age` of the feed and of all responses without their own lifetime, in seconds; at
    /// most 2³¹.
    public var maxAge: Int
    /// Receives one line per request at `info`, without the query; `nil` logs nothing.
    public var logger: Logger?
    /// The origin's clock, in seconds since 1970, for its `Date` fields.
    ///
    /// `nil` selects the real time. The clock affects only the `Date` field, so that content and
    /// validators stay deterministic.
    public var date: (@Sendable () -> Int64)?

    /// Creates a configuration. The defaults are loopback, a free port, a feed that is fresh for a
    /// minute, and no log.
    public init(
        host: String = "127.0.0.1",
        port: Int = 0,
        maxAge: Int = 60,
        logger: Logger? = nil,
        date: (@Sendable () -> Int64)? = nil
    ) {
        self.host = host
        self.port = port
        self.maxAge = maxAge
        self.logger = logger
        self.date = date
    }

    func validate() throws {
        guard (0...65_535).contains(port) else {
            throw OriginError(
                code: .configuration,
                message: "Port '\(port)' is not a port. Give a number from 0 (any free port) to 65535."
            )
        }
        guard (0...Self.largestMaxAge).contains(maxAge) else {
            throw OriginError(
                code: .configuration,
                message: "A max-age of '\(maxAge)' seconds is out of range. Give 0 to \(Self.largestMaxAge)."
            )
        }
    }
}
