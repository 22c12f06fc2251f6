import HTTPCacheSemantics
import NIOCore

/// The facts about one request in the access log; `nil` for those that are not known.
struct AccessLogEntry: Sendable, Hashable {
    /// When the exchange ended.
    var time = Timestamp(milliseconds: 0)
    /// The address of the client, or of the nearest proxy.
    var client: String?
    /// `1.0`, `1.1`, `2`
    var protocolVersion: String?
    var tlsVersion: String?
    var method: String?
    var scheme: String?
    /// The host that was asked, with its port.
    var authority: String?
    /// Path and query.
    var target: String?
    /// Bytes of the request's content.
    var requestSize: Int64?
    var status: Int?
    /// Bytes of the response's content.
    var responseSize: Int64?
    /// From the request's head to the response's end, and to the response's first byte.
    var duration: TimeAmount?
    var firstByte: TimeAmount?
    var route: String?
    var result: AccessLogResult?
    /// RFC 9211
    var cacheStatus: String?
    /// Seconds.
    var age: Int64?
    var timeToLive: Int64?
    var cacheID: String?
    var isStored: Bool?
    var notStored: String?
    var origin: String?
    /// The server that was asked, if the origin has settings of its own.
    var originServer: String?
    var originStatus: Int?
    var originDuration: TimeAmount?
    var isOriginReused: Bool?
    /// The code of the problem, or why the response has no end.
    var problem: String?
    var isAborted = false
    var requestID: String?
    var traceID: String?
    var spanID: String?
    var agent: String?
    var referer: String?
    var connectionID: Int64?
    /// The number of the request on its connection.
    var connectionRequests: Int64?
}

/// The cache's part in a response, by the words of nginx. Programs that read logs know them.
enum AccessLogResult: String, Sendable, Hashable, CaseIterable {
    /// Served from the store, fresh.
    case hit = "HIT"
    /// Served from the store, stale.
    case stale = "STALE"
    /// Served from the store after the origin confirmed it.
    case revalidated = "REVALIDATED"
    /// Served from the store, stale, while it is fetched again.
    case updating = "UPDATING"
    /// Fetched, because the stored response was stale.
    case expired = "EXPIRED"
    /// Fetched, because nothing fitting was stored.
    case miss = "MISS"
    /// Fetched past the store.
    case bypass = "BYPASS"
}
