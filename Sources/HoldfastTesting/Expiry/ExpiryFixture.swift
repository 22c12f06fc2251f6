/// A stored response and the expected behavior at later instants, read from one JSON file.
///
/// ```swift
/// for fixture in try ExpiryFixture.load(folder: "Fixtures/expiry") {
///     #expect(try fixture.findings() == [])
/// }
/// ```
///
/// Instants are text such as `2026-03-01T12:00:00Z`, or offsets from the response time, such as
/// `+61s`, `-5m`, `+1h` or `+2d`. Names use underscores, as in `response_time`. RFC 9111 §4.2
public struct ExpiryFixture: Decodable, Sendable {
    /// A kind of cache. RFC 9111 §1
    public enum Cache: String, Decodable, Sendable {
        /// A cache for a single user.
        case `private`
        /// A cache shared by many users.
        case shared
    }

    /// A field line, such as `["Cache-Control", "max-age=60"]`.
    public struct Line: Decodable, Sendable {
        /// The field's name.
        public var name: String
        /// The field's value.
        public var value: String
        /// Reads a field line.
        public init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            name = try container.decode(String.self)
            value = try container.decode(String.self)
        }
    }

    /// The stored response.
    public struct Stored: Decodable, Sendable {
        /// The original request's fields.
        public var request: [Line]?
        /// The status code; 200 by default.
        public var status: Int?
        /// The response's fields, in order. A name may occur more than once.
        public var response: [Line]
        /// When the request was sent. RFC 9111 §4.2.3
        public var requestTime: String
        /// When the response's head arrived. RFC 9111 §4.2.3
        public var responseTime: String
        /// `never`, an offset from `responseTime`, or an instant.
        public var explicitExpiry: String?
        /// Whether the response was invalidated after it was stored.
        public var invalidated: Bool?
    }

    /// The cache's decision about the stored response.
    public enum Verdict: String, Decodable, Sendable {
        /// The response is served.
        case fresh
        /// The response is served because the request's `max-stale` allows it.
        case staleAllowed = "stale-allowed"
        /// The response is served, and validated in the background.
        case staleWhileRevalidate = "stale-while-revalidate"
        /// The origin must validate the response before it is served.
        case validate
    }

    /// The expected behavior. An expectation of `nil` is not checked.
    public struct Expectation: Decodable, Sendable {
        /// The expected decision.
        public var verdict: Verdict?
        /// The reason for the validation: `stale`, `responseNoCache`, `invalidated`,
        /// `requestNoCache`, `requestMaxAge`, `requestMinFresh`, `requestCredentials`.
        public var reason: String?
        /// The freshness lifetime in seconds, or `never`.
        public var lifetime: Seconds?
        /// The source of the lifetime: `explicitExpiry`, `sMaxage`, `maxAge`, `expires`,
        /// `heuristic`, `none`.
        public var source: String?
        /// The age in seconds.
        public var age: Double?
        /// The remaining lifetime in seconds, or `never`.
        public var ttl: Seconds?
        /// `allowed`, or the name of the directive that forbids stale use.
        public var staleUse: String?
        /// Whether the response is served in place of a response with status 500, 502, 503 or 504.
        /// RFC 5861 §4
        public var staleOnError: Bool?
    }

    /// A time that may be infinite.
    public enum Seconds: Decodable, Sendable, Equatable {
        /// The time is infinite.
        case never
        /// The time in seconds.
        case number(Double)
        /// Reads a time.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if try container.decode(String.self) == "never" {
                self = .never
            } else {
                throw ExpiryFixtureError(message: "expected a number of seconds, or 'never'")
            }
        }
        /// The time in milliseconds; `Int64.max` if it is infinite.
        public var milliseconds: Int64 {
            switch self {
            case .never: .max
            case .number(let seconds): Int64((seconds * 1000).rounded())
            }
        }
    }

    /// A later instant and the expected behavior.
    public struct Instant: Decodable, Sendable {
        /// An offset from `responseTime` (`+61s`, `-5m`, `+1h`, `+2d`), or an instant.
        public var at: String
        /// The fields of the request that is sent at that instant.
        public var request: [Line]?
        /// The expected behavior at that instant.
        public var expect: Expectation
    }

    /// The claim that the fixture tests.
    public var title: String
    /// The section of the RFC that contains the claim.
    public var rfc: String
    /// The kinds of caches that the claim applies to.
    public var caches: [Cache]
    /// Whether a conforming cache may store the response; `nil` means `true`. If `false`, only the
    /// policy is checked.
    public var storable: Bool?
    /// The stored response.
    public var stored: Stored
    /// The later instants. Each is independent of the others.
    public var then: [Instant]
    /// The file's name without its extension.
    public var name = ""

    private enum CodingKeys: String, CodingKey { case title, rfc, caches, storable, stored, then }

}
