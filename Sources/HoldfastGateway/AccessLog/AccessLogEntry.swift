import HTTPCacheSemantics
import NIOCore

/// The facts about one request in the access log. Unknown facts are `nil`.
struct AccessLogEntry: Sendable, Hashable {
    /// The time when the exchange ended.
    var time = Timestamp(milliseconds: 0)
    /// The address of the client, or of the nearest proxy.
    var client: String?
    /// `1.0`, `1.1`, `2`
    var protocolVersion: String?
    var tlsVersion: String?
    var method: String?
    var scheme: String?
    /// The requested host, with its port.
    var authority: String?
    /// Path and query.
    var target: String?
    /// The number of bytes in the request's content.
    var requestSize: Int64?
    var status: Int?
    /// The number of bytes in the response's content.
    var responseSize: Int64?
    /// The time from the request's head to the response's end, and to its first byte.
    var duration: TimeAmount?
    var firstByte: TimeAmount?
    var route: String?
    var result: AccessLogResult?
    /// RFC 9211
    var cacheStatus: String?
    /// In seconds.
    var age: Int64?
    var timeToLive: Int64?
    var cacheID: String?
    var isStored: Bool?
    var notStored: String?
    var origin: String?
    /// The server that received the request, if the origin has its own settings.
    var originServer: String?
    var originStatus: Int?
    var originDuration: TimeAmount?
    var isOriginReused: Bool?
    /// The code of the problem, or the reason why the response was cut short.
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

/// The cache's part in a response, in nginx's words, which log tools know.
enum AccessLogResult: String, Sendable, Hashable, CaseIterable {
    /// Served from the store, fresh.
    case hit = "HIT"
    /// Served from the store, stale.
    case stale = "STALE"
    /// Served from the store after the origin validated it.
    case revalidated = "REVALIDATED"
    /// Served stale from the store while a new response is fetched.
    case updating = "UPDATING"
    /// Fetched, because the stored response was stale.
    case expired = "EXPIRED"
    /// Fetched, because nothing suitable was stored.
    case miss = "MISS"
    /// Fetched, bypassing the store.
    case bypass = "BYPASS"
}
