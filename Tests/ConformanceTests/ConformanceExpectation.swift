/// The expectations of a step. Omitted ones are not checked, except for the defaults that the
/// README names.
struct ConformanceExpectation: Decodable, Sendable {
    enum Source: String, Decodable, Sendable { case store, origin, validation }

    /// The parts of an expectation. The failure of a part means that the claim does not hold, or
    /// that it could not be tested.
    enum Part: String, Decodable, Sendable {
        case from, status, content, fields, fieldsAbsent, requestFields, method, interim, passedOn
    }

    enum Status: Sendable { case code(Int), any }

    enum Content: Sendable { case text(String), any }

    /// `["If-None-Match", "\"a\""]`, or `"Range"` for any value.
    struct Line: Decodable, Sendable {
        var name: String
        var value: FieldValue

        init(from decoder: any Decoder) throws {
            if let name = try? decoder.singleValueContainer().decode(String.self) {
                self.name = name
                value = .any
                return
            }
            var container = try decoder.unkeyedContainer()
            name = try container.decode(String.self)
            value = try container.decode(FieldValue.self)
        }
    }

    struct Interim: Decodable, Sendable {
        var status: Int
        var fields: [String]?
    }

    var from: Source?
    /// The field that a validation is made with.
    var by: String?
    var status: Status?
    var content: Content?
    var fields: [Line] = []
    var fieldsAbsent: [Line] = []
    var requestFields: [Line] = []
    var requestFieldsAbsent: [Line] = []
    var method: String?
    var interim: [Interim]?
    /// The origin generated the response for the request of this step.
    var madeFor: Int?
    /// The origin generated no part of the response, now or earlier.
    var notFromOrigin = false
    /// The parts whose failure only means that the case could not be tried.
    var premise: Set<Part> = []

    init() {}

    private enum Key: String, CodingKey {
        case from, by, status, content, fields, fieldsAbsent, requestFields, requestFieldsAbsent, method, interim,
            madeFor
        case notFromOrigin, premise
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        from = try container.decodeIfPresent(Source.self, forKey: .from)
        by = try container.decodeIfPresent(String.self, forKey: .by)
        if let code = try? container.decodeIfPresent(Int.self, forKey: .status) {
            status = .code(code)
        } else if container.contains(.status) {
            status = .any
        }
        if let text = try? container.decodeIfPresent(String.self, forKey: .content) {
            content = .text(text)
        } else if container.contains(.content) {
            content = .any
        }
        fields = try container.decodeIfPresent([Line].self, forKey: .fields) ?? []
        fieldsAbsent = try container.decodeIfPresent([Line].self, forKey: .fieldsAbsent) ?? []
        requestFields = try container.decodeIfPresent([Line].self, forKey: .requestFields) ?? []
        requestFieldsAbsent = try container.decodeIfPresent([Line].self, forKey: .requestFieldsAbsent) ?? []
        method = try container.decodeIfPresent(String.self, forKey: .method)
        interim = try container.decodeIfPresent([Interim].self, forKey: .interim)
        madeFor = try container.decodeIfPresent(Int.self, forKey: .madeFor)
        notFromOrigin = try container.decodeIfPresent(Bool.self, forKey: .notFromOrigin) ?? false
        if let all = try? container.decodeIfPresent(Bool.self, forKey: .premise) {
            premise = all ? [.from, .status, .content, .fields, .fieldsAbsent, .requestFields, .method, .interim] : []
        } else {
            premise = Set(try container.decodeIfPresent([Part].self, forKey: .premise) ?? [])
        }
        // That the origin's fields pass is a premise, unless it is the subject of the case.
        premise.insert(.passedOn)
    }
}
