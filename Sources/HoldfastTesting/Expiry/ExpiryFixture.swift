/// A stored response and the expectations at later instants: one file of JSON.
///
/// ```swift
/// for fixture in try ExpiryFixture.load(folder: "Fixtures/expiry") {
///     #expect(try fixture.findings() == [])
/// }
/// ```
///
/// Instants are text, `2026-03-01T12:00:00Z`, or offsets from the time of the response: `+61s`,
/// `-5m`, `+1h`, `+2d`. Names use underscores: `response_time`. RFC 9111 §4.2
public struct ExpiryFixture: Decodable, Sendable {
    /// Kinds of caches. RFC 9111 §1
    public enum Cache: String, Decodable, Sendable {
        /// Of one user.
        case `private`
        /// Of many.
        case shared
    }

    /// A field line: `["Cache-Control", "max-age=60"]`.
    public struct Line: Decodable, Sendable {
        /// The field's name.
        public var name: String
        /// Its value.
        public var value: String
        /// Reads one.
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
        /// 200 unless it is stated.
        public var status: Int?
        /// The response's fields, in order; a name may occur twice.
        public var response: [Line]
        /// When the request was sent. RFC 9111 §4.2.3
        public var requestTime: String
        /// When the response's head arrived. RFC 9111 §4.2.3
        public var responseTime: String
        /// `never`, an offset from `responseTime`, or an instant.
        public var explicitExpiry: String?
        /// It was invalidated after it was stored.
        public var invalidated: Bool?
    }

    /// The cache's decision about the stored response.
    public enum Verdict: String, Decodable, Sendable {
        /// It is served.
        case fresh
        /// It is served: the request's `max-stale` allows it.
        case staleAllowed = "stale-allowed"
        /// It is served, and validated in the background.
        case staleWhileRevalidate = "stale-while-revalidate"
        /// The origin must validate it before it is served.
        case validate
    }

    /// The expectations; those that are `nil` are not checked.
    public struct Expectation: Decodable, Sendable {
        /// See ``Verdict``.
        public var verdict: Verdict?
        /// The reason for the validation: `stale`, `responseNoCache`, `invalidated`,
        /// `requestNoCache`, `requestMaxAge`, `requestMinFresh`, `requestCredentials`.
        public var reason: String?
        /// Seconds, or `never`.
        public var lifetime: Seconds?
        /// The source of the lifetime: `explicitExpiry`, `sMaxage`, `maxAge`, `expires`,
        /// `heuristic`, `none`.
        public var source: String?
        /// Seconds.
        public var age: Double?
        /// Seconds, or `never`.
        public var ttl: Seconds?
        /// `allowed`, or the name of the directive that forbids it.
        public var staleUse: String?
        /// Whether it is served in place of a response with a status of 500 and above.
        public var staleOnError: Bool?
    }

    /// A time that may be without end.
    public enum Seconds: Decodable, Sendable, Equatable {
        /// Without end.
        case never
        /// So many seconds.
        case number(Double)
        /// Reads one.
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
        /// In milliseconds; `Int64.max` for one without end.
        public var milliseconds: Int64 {
            switch self {
            case .never: .max
            case .number(let seconds): Int64((seconds * 1000).rounded())
            }
        }
    }

    /// A later time.
    public struct Instant: Decodable, Sendable {
        /// An offset from `responseTime` (`+61s`, `-5m`, `+1h`, `+2d`), or an instant.
        public var at: String
        /// The presented request's fields.
        public var request: [Line]?
        /// The expectations at that instant.
        public var expect: Expectation
    }

    /// The claim.
    public var title: String
    /// The section that makes it.
    public var rfc: String
    /// In which caches it must hold.
    public var caches: [Cache]
    /// `false` if a conforming cache does not store the response; only the policy is checked then.
    public var storable: Bool?
    /// See ``Stored``.
    public var stored: Stored
    /// The later times; each stands for itself.
    public var then: [Instant]
    /// The file's name, without its extension.
    public var name = ""

    private enum CodingKeys: String, CodingKey { case title, rfc, caches, storable, stored, then }

}
