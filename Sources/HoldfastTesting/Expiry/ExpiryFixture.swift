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
package struct ExpiryFixture: Decodable, Sendable, CustomStringConvertible {
    /// A kind of cache. RFC 9111 §1
    package enum Cache: String, Decodable, Sendable {
        /// A cache for a single user.
        case `private`
        /// A cache shared by many users.
        case shared
    }

    /// A field line, such as `["Cache-Control", "max-age=60"]`.
    package struct Line: Decodable, Sendable {
        /// The field's name.
        package var name: String
        /// The field's value.
        package var value: String
        /// Reads a field line.
        package init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            name = try container.decode(String.self)
            value = try container.decode(String.self)
        }
    }

    /// The stored response.
    package struct Stored: Decodable, Sendable {
        /// The original request's fields.
        package var request: [Line]?
        /// The status code; 200 by default.
        package var status: Int?
        /// The response's fields, in order. A name may occur more than once.
        package var response: [Line]
        /// When the request was sent. RFC 9111 §4.2.3
        package var requestTime: String
        /// When the response's head arrived. RFC 9111 §4.2.3
        package var responseTime: String
        /// `never`, an offset from `responseTime`, or an instant.
        package var explicitExpiry: String?
        /// Whether the response was invalidated after it was stored.
        package var invalidated: Bool?
    }

    /// The cache's decision about the stored response.
    package enum Verdict: String, Decodable, Sendable {
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
    package struct Expectation: Decodable, Sendable {
        /// The expected decision.
        package var verdict: Verdict?
        /// The reason for the validation: `stale`, `responseNoCache`, `invalidated`,
        /// `requestNoCache`, `requestMaxAge`, `requestMinFresh`, `requestCredentials`.
        package var reason: String?
        /// The freshness lifetime in seconds, or `never`.
        package var lifetime: Seconds?
        /// The source of the lifetime: `explicitExpiry`, `sMaxage`, `maxAge`, `expires`,
        /// `heuristic`, `none`.
        package var source: String?
        /// The age in seconds.
        package var age: Double?
        /// The remaining lifetime in seconds, or `never`.
        package var ttl: Seconds?
        /// `allowed`, or the name of the directive that forbids stale use.
        package var staleUse: String?
        /// Whether the response is served in place of a response with status 500, 502, 503 or 504.
        /// RFC 5861 §4
        package var staleOnError: Bool?
    }

    /// A time that may be infinite.
    package enum Seconds: Decodable, Sendable, Equatable {
        /// The time is infinite.
        case never
        /// The time in seconds.
        case number(Double)
        /// Reads a time.
        package init(from decoder: any Decoder) throws {
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
        package var milliseconds: Int64 {
            switch self {
            case .never: .max
            case .number(let seconds): Int64((seconds * 1000).rounded())
            }
        }
    }

    /// A later instant and the expected behavior.
    package struct Instant: Decodable, Sendable {
        /// An offset from `responseTime` (`+61s`, `-5m`, `+1h`, `+2d`), or an instant.
        package var at: String
        /// The fields of the request that is sent at that instant.
        package var request: [Line]?
        /// The expected behavior at that instant.
        package var expect: Expectation
    }

    /// The claim that the fixture tests.
    package var title: String
    /// The section of the RFC that contains the claim.
    package var rfc: String
    /// The kinds of caches that the claim applies to.
    package var caches: [Cache]
    /// Whether a conforming cache may store the response; `nil` means `true`. If `false`, only the
    /// policy is checked.
    package var storable: Bool?
    /// The stored response.
    package var stored: Stored
    /// The later instants. Each is independent of the others.
    package var then: [Instant]
    /// The file's name without its extension.
    package var name = ""

    /// The name, which identifies the fixture in the output of a test.
    package var description: String { name }

    private enum CodingKeys: String, CodingKey { case title, rfc, caches, storable, stored, then }
}
