/// One request of a case, the origin's response, and the expectations.
struct ConformanceStep: Decodable, Sendable {
    struct Request: Decodable, Sendable {
        var method = "GET"
        /// Appended to the case's own URI: `/child`, `?query`.
        var target = ""
        var fields: [FieldLine] = []
        var content: String?

        private enum Key: String, CodingKey { case method, target, fields, content }

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            method = try container.decodeIfPresent(String.self, forKey: .method) ?? "GET"
            target = try container.decodeIfPresent(String.self, forKey: .target) ?? ""
            fields = try container.decodeIfPresent([FieldLine].self, forKey: .fields) ?? []
            content = try container.decodeIfPresent(String.self, forKey: .content)
        }
    }

    struct Interim: Decodable, Sendable {
        var status: Int
        var fields: [FieldLine]?
    }

    struct Origin: Decodable, Sendable {
        var status: Int?
        var fields: [FieldLine] = []
        var content: String?
        var interim: [Interim] = []
        /// Seconds that pass before the origin responds.
        var afterSeconds = 0
        /// The connection ends without a response.
        var hangsUp = false
        /// The request reaches the origin after the client has been served.
        var inBackground = false

        private enum Key: String, CodingKey {
            case status, fields, content, interim, afterSeconds, hangsUp, inBackground
        }

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            status = try container.decodeIfPresent(Int.self, forKey: .status)
            fields = try container.decodeIfPresent([FieldLine].self, forKey: .fields) ?? []
            content = try container.decodeIfPresent(String.self, forKey: .content)
            interim = try container.decodeIfPresent([Interim].self, forKey: .interim) ?? []
            afterSeconds = try container.decodeIfPresent(Int.self, forKey: .afterSeconds) ?? 0
            hangsUp = try container.decodeIfPresent(Bool.self, forKey: .hangsUp) ?? false
            inBackground = try container.decodeIfPresent(Bool.self, forKey: .inBackground) ?? false
        }
    }

    var request: Request
    var origin: Origin
    var expect: ConformanceExpectation
    /// Seconds that pass before the next step.
    var thenSeconds: Int

    private enum Key: String, CodingKey { case request, origin, expect, thenSeconds }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        request = try container.decodeIfPresent(Request.self, forKey: .request) ?? Request()
        origin = try container.decodeIfPresent(Origin.self, forKey: .origin) ?? Origin()
        expect = try container.decodeIfPresent(ConformanceExpectation.self, forKey: .expect) ?? ConformanceExpectation()
        thenSeconds = try container.decodeIfPresent(Int.self, forKey: .thenSeconds) ?? 0
    }
}

/// A field line of a request or of the origin's response: `["Date", {"date": 0}]`, `["Age", "abc",
/// "free"]`.
struct FieldLine: Decodable, Sendable {
    var name: String
    var value: FieldValue
    /// The cache may pass it on changed.
    var isFree: Bool

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        name = try container.decode(String.self)
        value = try container.decode(FieldValue.self)
        isFree = container.isAtEnd ? false : try container.decode(String.self) == "free"
    }
}

/// The actual or expected value of a field line.
enum FieldValue: Decodable, Sendable {
    case text(String)
    /// Seconds relative to the reference time of the line; in the format of RFC 850 or the usual
    /// one.
    case date(Int64, isRFC850: Bool)
    /// A path below the case's own URI.
    case target(String)
    /// Any value.
    case any
    /// A number above this one.
    case above(Int64)

    private enum Key: String, CodingKey { case date, form, target, any, above }

    init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self = .text(text)
            return
        }
        let container = try decoder.container(keyedBy: Key.self)
        if let seconds = try container.decodeIfPresent(Int64.self, forKey: .date) {
            self = .date(seconds, isRFC850: try container.decodeIfPresent(String.self, forKey: .form) == "rfc850")
        } else if let suffix = try container.decodeIfPresent(String.self, forKey: .target) {
            self = .target(suffix)
        } else if let bound = try container.decodeIfPresent(Int64.self, forKey: .above) {
            self = .above(bound)
        } else {
            _ = try container.decode(Bool.self, forKey: .any)
            self = .any
        }
    }
}
