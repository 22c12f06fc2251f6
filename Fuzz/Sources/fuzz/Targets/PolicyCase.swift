import HTTPTypes

@testable import HTTPCacheSemantics

/// A policy, a request, a stored response, another response and the times between them, read from
/// text:
///
/// ```
/// kind heuristic maximum-heuristic maximum-error
/// request-time response-time now body-length flags [explicit expiry]
/// GET /path
/// Request-Field: …
///
/// 200
/// Response-Field: …
///
/// 304
/// Response-Field: …
/// ```
struct PolicyCase {
    var policy: CachePolicy
    var request: HTTPRequest
    var response: HTTPResponse
    var other: HTTPResponse
    var stored: StoredResponseHead
    var requestTime: Timestamp
    var responseTime: Timestamp
    var now: Timestamp
    var bodyLength: Int64

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        var input = FuzzInput(bytes)
        let limits = input.numbers()
        policy = CachePolicy(
            kind: limits[0] & 1 == 0 ? .private : .shared,
            heuristicFraction: Double(limits[1]) / 100,
            maximumHeuristicLifetime: limits[2],
            maximumErrorLifetime: limits[3]
        )
        let times = input.numbers()
        requestTime = Timestamp(milliseconds: times[0])
        responseTime = Timestamp(milliseconds: times[1])
        now = Timestamp(milliseconds: times[2])
        bodyLength = times[3]
        let flags = times[4]
        let words = input.line().split(separator: UInt8(ascii: " "), maxSplits: 1)
        request = HTTPRequest(
            method: words.first.flatMap { HTTPRequest.Method(String(decoding: $0, as: UTF8.self)) } ?? .get,
            scheme: "https",
            authority: "a.example",
            path: words.count > 1 ? String(decoding: words[1], as: UTF8.self) : "/",
            headerFields: input.fields()
        )
        response = input.response()
        other = input.response()
        stored = StoredResponseHead(
            requestMethod: request.method,
            selectingFields: policy.selectingFields(of: request, for: response),
            status: response.status,
            // As another program's store could contain them, or as this cache stores them.
            fields: flags & 2 != 0 ? response.headerFields : policy.storedFields(of: response),
            requestTime: requestTime,
            responseTime: responseTime,
            explicitExpiry: times.values.count > 5 ? Timestamp(milliseconds: times[5]) : nil,
            isInvalidated: flags & 1 != 0
        )
    }
}

extension FuzzInput {
    fileprivate mutating func response() -> HTTPResponse {
        let code = Int(min(max(numbers()[0], 0), 999))
        return HTTPResponse(status: HTTPResponse.Status(code: code), headerFields: fields())
    }
}

/// Claims about every verdict on a stored response.
func requireSoundVerdict(_ reuse: Reuse, _ stored: StoredResponseHead) {
    let freshness = reuse.freshness
    requireSound(freshness)
    switch reuse.decision {
    case .fresh:
        require(freshness.millisecondsToLive > 0 && freshness.isFresh, "a stale response is used as fresh")
        require(!stored.isInvalidated, "an invalidated response is used")
    case .staleAllowed, .staleWhileRevalidate:
        require(!freshness.isFresh && !stored.isInvalidated, "a fresh response is treated as stale")
        require(reuse.staleUse == .allowed, "stale use is forbidden and happens")
    case .validate(.stale):
        require(!freshness.isFresh, "a fresh response is treated as stale")
    case .validate:
        break
    }
    if reuse.allowsStaleOnError {
        require(reuse.staleUse == .allowed && !stored.isInvalidated, "an error permits forbidden use")
    }
}

func requireSound(_ freshness: Freshness) {
    let age = freshness.age
    for step in [
        age.apparentAge, age.responseDelay, age.correctedAgeValue, age.correctedInitialAge, age.residentTime,
        age.milliseconds,
    ] { require(step >= 0, "a negative age") }
    let hasTime = freshness.millisecondsToLive > 0
    require(freshness.isFresh == hasTime, "fresh without time to live, or the other way round")
    if freshness.lifetime.source != .explicitExpiry {
        require((0...2_147_483_648_000).contains(freshness.lifetime.milliseconds), "a lifetime out of its range")
    }
}
