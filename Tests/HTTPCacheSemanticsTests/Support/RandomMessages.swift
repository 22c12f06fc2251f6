import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting

/// Random policies, stored responses, responses and instants, made of the values that decisions
/// depend on.
struct RandomMessages {
    private var generator: SeededRandom

    init(seed: UInt64) { generator = SeededRandom(seed: seed) }

    /// The validators in use: few, so that many pairs agree.
    static let tags = ["\"1\"", "\"2\"", "W/\"1\"", "W/\"2\"", "unquoted", "", "\"1\", \"2\""]
    static let dates = [
        "Sun, 01 Mar 2026 10:00:00 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", "Sunday, 01-Mar-26 11:00:00 GMT",
        noonDate, "yesterday", "",
    ]
    private static let extremes: [Int64] = [
        .min, .min + 1, -1, 0, 1, 17, 1_772_366_400_000, .max - 2_147_483_648_000, .max - 1000, .max - 1, .max,
    ]
    private static let directives = [
        "max-age=0", "max-age=1", "max-age=60", "max-age=2147483648", "max-age=99999999999999999999", "max-age=x",
        "s-maxage=0", "s-maxage=30", "s-maxage=86400", "no-cache", "no-cache=\"x\"", "no-cache=\"vary\"", "no-store",
        "public", "private", "private=\"x\"", "must-revalidate", "proxy-revalidate", "must-understand", "immutable",
        "stale-while-revalidate=60", "stale-if-error=60", "stale-if-error=2147483648", "unknown", "",
    ]
    private static let requestDirectives = [
        "no-cache", "no-store", "max-age=0", "max-age=60", "min-fresh=1", "min-fresh=86400", "max-stale",
        "max-stale=60", "stale-if-error=60", "only-if-cached",
    ]

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &generator)]
    }

    mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &generator) < share }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &generator) }

    /// An instant: mostly within some days around noon, sometimes an extreme value.
    mutating func instant(extremes: Double = 0.2) -> Timestamp {
        if chance(extremes) { return Timestamp(milliseconds: pick(Self.extremes)) }
        return noon.adding(milliseconds: number(-200_000...200_000) * pick([1, 1, 1000]))
    }

    mutating func policy() -> CachePolicy {
        var policy = CachePolicy(
            kind: chance(0.5) ? .private : .shared,
            heuristicFraction: pick([0, 0.1, 1]),
            maximumHeuristicLifetime: pick([0, 86_400, .max]),
            maximumErrorLifetime: pick([-1, 60, .max])
        )
        if chance(0.4) { policy.overriding = FixedOverrides(overrides()) }
        return policy
    }

    private mutating func overrides() -> PolicyOverrides {
        var overrides = PolicyOverrides()
        let seconds: [Int64] = [.min, -1, 0, 1, 60, 86_400, .max]
        if chance(0.3) { overrides.lifetime = pick(seconds) }
        if chance(0.3) { overrides.defaultLifetime = pick(seconds) }
        if chance(0.3) { overrides.errorLifetime = pick(seconds) }
        if chance(0.3) { overrides.staleWhileRevalidate = pick(seconds) }
        if chance(0.3) { overrides.maximumStalenessUnreachable = pick(seconds) }
        if chance(0.3) { overrides.ignoredDirectives = PolicyOverrides.Directives(rawValue: UInt8(number(0...63))) }
        if chance(0.3) {
            overrides.directivesIgnoredWhenStale = PolicyOverrides.Directives(rawValue: UInt8(number(0...63)))
        }
        return overrides
    }

    mutating func request(method: HTTPRequest.Method = .get) -> HTTPRequest {
        var pairs: [(String, String)] = []
        if chance(0.3) { pairs.append(("Cache-Control", pick(Self.requestDirectives))) }
        if chance(0.1) { pairs.append(("Cookie", "a=1")) }
        return HTTPCacheSemanticsTests.request(pairs, method: method)
    }

    /// Fields of a response, valid and invalid ones mixed.
    mutating func responseFields() -> [(String, String)] {
        var pairs: [(String, String)] = []
        if chance(0.8) {
            pairs.append(
                ("Cache-Control", (0..<number(1...3)).map { _ in pick(Self.directives) }.joined(separator: ", "))
            )
        }
        if chance(0.1) { pairs.append(("CDN-Cache-Control", pick(Self.directives))) }
        if chance(0.6) { pairs.append(("Date", chance(0.7) ? noonDate : pick(Self.dates))) }
        if chance(0.3) { pairs.append(("Expires", pick(Self.dates + ["Sun, 01 Mar 2026 13:00:00 GMT", "0"]))) }
        if chance(0.2) { pairs.append(("Age", pick(["0", "7", "100000", "2147483648", "x"]))) }
        if chance(0.5) { pairs.append(("ETag", pick(Self.tags))) }
        if chance(0.5) { pairs.append(("Last-Modified", pick(Self.dates))) }
        if chance(0.3) { pairs.append(("Content-Length", pick(["5", "6", "5, 5", "x"]))) }
        if chance(0.2) { pairs.append(("Content-Type", pick(["text/plain", "text/html"]))) }
        if chance(0.1) { pairs.append(("Content-Encoding", pick(["gzip", "br"]))) }
        return pairs
    }

    mutating func stored(extremes: Double = 0.2) -> StoredResponseHead {
        let responseTime = instant(extremes: extremes)
        var result = HTTPCacheSemanticsTests.stored(
            responseFields(),
            status: chance(0.8) ? 200 : pick([203, 206, 301, 302, 400, 404, 405, 410, 500, 501, 599]),
            requestTime: chance(0.8) ? responseTime : instant(extremes: extremes),
            responseTime: responseTime,
            explicitExpiry: chance(0.2) ? instant(extremes: 0.4) : nil,
            isInvalidated: chance(0.1)
        )
        if result.status.code == 206 {
            result.fields[.contentRange] = pick(["bytes 0-4/10", "bytes 5-9/10", "bytes 0-4/*"])
        }
        return result
    }
}

/// Overrides for every response.
final class FixedOverrides: PolicyOverriding {
    private let overrides: PolicyOverrides
    var dependsOnContentType: Bool { false }

    init(_ overrides: PolicyOverrides) { self.overrides = overrides }

    func overrides(forContentType contentType: String?) -> PolicyOverrides { overrides }
}
