import HTTPCacheSemantics
import HTTPTypes

/// 2026-03-01T12:00:00Z, a Sunday: the default time of receipt of the tests' responses.
let noon = Timestamp(seconds: 1_772_366_400)
let noonDate = "Sun, 01 Mar 2026 12:00:00 GMT"

/// Makes fields from pairs, so that a name can be repeated.
func fields(_ pairs: [(String, String)]) -> HTTPFields {
    var result = HTTPFields()
    for (name, value) in pairs {
        guard let name = HTTPField.Name(name) else { continue }
        result.append(HTTPField(name: name, value: value))
    }
    return result
}

func request(_ pairs: [(String, String)] = [], method: HTTPRequest.Method = .get) -> HTTPRequest {
    HTTPRequest(
        method: method,
        scheme: "https",
        authority: "a.example",
        path: "/x",
        headerFields: fields(pairs)
    )
}

func response(_ pairs: [(String, String)] = [], status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields(pairs))
}

/// A response that was requested and received at noon.
func stored(
    _ pairs: [(String, String)],
    status: Int = 200,
    selecting: [(String, String)] = [],
    requestTime: Timestamp = noon,
    responseTime: Timestamp = noon,
    explicitExpiry: Timestamp? = nil,
    isInvalidated: Bool = false
) -> StoredResponseHead {
    StoredResponseHead(
        selectingFields: fields(selecting),
        status: HTTPResponse.Status(code: status),
        fields: fields(pairs),
        requestTime: requestTime,
        responseTime: responseTime,
        explicitExpiry: explicitExpiry,
        isInvalidated: isInvalidated
    )
}

extension CachePolicy {
    static let `private` = CachePolicy(kind: .private)
    static let shared = CachePolicy(kind: .shared)

    func lifetimeSeconds(_ pairs: [(String, String)], status: Int = 200) -> Int64 {
        freshnessLifetime(of: stored(pairs, status: status)).milliseconds / 1000
    }

    func decision(_ head: StoredResponseHead, _ pairs: [(String, String)] = [], after seconds: Int64) -> Reuse.Decision
    {
        reuse(of: head, for: request(pairs), at: noon.adding(milliseconds: seconds * 1000)).decision
    }
}

extension StatedLength {
    /// The number, in a test that knows it to be short.
    var number: Int { capped(at: Int.max) }
}

extension Range<StatedLength> {
    /// The range, in a test that knows it to be short.
    var numbers: Range<Int> { lowerBound.number..<upperBound.number }
}
