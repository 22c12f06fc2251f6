import HTTPCache

/// A JSON value as a tree, so that an error can name the rejected part. ``JSONReader`` parses it.
enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The value as messages show it: a scalar itself, or the size of a list or object.
    var shown: String {
        switch self {
        case .null: "null"
        case .bool(let flag): "\(flag)"
        case .number(let number): "\(number)"
        case .string(let text): ControlProblem.shown(text)
        case .array(let values): "a list of \(values.count)"
        case .object(let members): "an object of \(members.count)"
        }
    }
}

/// Reads the members of a JSON object, and rejects unknown members.
struct JSONMembers {
    private var members: [String: JSONValue]
    /// The path of the object, with a trailing dot; empty for the outermost object.
    private let path: String

    /// Reads a request's content.
    ///
    /// - Parameter example: content that would be accepted, for error messages.
    init(json: [UInt8], example: String) throws(ControlProblem) {
        let tree: JSONValue
        do throws(JSONScanner.ScanError) {
            tree = try JSONReader.value(of: json)
        } catch {
            throw Self.problem(error, example)
        }
        try self.init(tree, example: example)
    }

    init(
        _ value: JSONValue,
        path: String = "",
        example: String = #"{"select": {"tags": ["news"]}}"#
    ) throws(ControlProblem) {
        guard case .object(let members) = value else {
            let name = path.isEmpty ? "The content" : "'\(path)'"
            throw ControlProblem(
                .invalidRequest,
                "\(name) must be an object such as \(example), not \(value.shown).",
                field: path.isEmpty ? nil : path,
                value: value.shown
            )
        }
        self.members = members
        self.path = path.isEmpty ? "" : path + "."
    }

    private static func problem(_ refusal: JSONScanner.ScanError, _ example: String) -> ControlProblem {
        switch refusal {
        case .notJSON:
            return ControlProblem(.invalidRequest, "The content is not JSON. Send an object such as \(example).")
        case .repeated(let path):
            let field = ControlProblem.shown(path)
            return ControlProblem(.invalidRequest, "'\(field)' occurs twice. Send it once.", field: field)
        case .tooManyValues:
            let limit = JSONReader.maximumCount
            return ControlProblem(
                .tooLarge,
                "The content exceeds the limit of \(limit) values. Send several requests.",
                limit: limit
            )
        case .tooDeep:
            let limit = JSONReader.maximumDepth
            return ControlProblem(
                .invalidRequest,
                "Lists and objects are nested more than \(limit) levels deep. Send an object such as \(example).",
                limit: limit
            )
        }
    }

    func field(_ name: String) -> String { path + name }

    /// Returns whether a member exists, without marking it as read.
    func has(_ name: String) -> Bool { members[name] != nil }

    mutating func take(_ name: String) -> JSONValue? {
        let value = members.removeValue(forKey: name)
        return value == .null ? nil : value
    }

    /// Reads a flag; a missing flag is `false`. `null` is rejected, because a client that meant a
    /// dry run would otherwise change something.
    mutating func flag(_ name: String) throws(ControlProblem) -> Bool {
        switch members.removeValue(forKey: name) {
        case nil: return false
        case .bool(let flag): return flag
        case let value?: throw wrongKind(name, value, "true or false")
        }
    }

    mutating func text(_ name: String) throws(ControlProblem) -> String? {
        switch take(name) {
        case nil: return nil
        case .string(let text): return text
        case let value?: throw wrongKind(name, value, "text")
        }
    }

    mutating func number(_ name: String, _ range: ClosedRange<Int>) throws(ControlProblem) -> Int? {
        guard let value = take(name) else { return nil }
        if case .number(let number) = value, let whole = Int(exactly: number), range.contains(whole) { return whole }
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        var problem = wrongKind(name, value, expected)
        problem.limit = range.upperBound
        throw problem
    }

    mutating func texts(_ name: String) throws(ControlProblem) -> [String] {
        guard let value = take(name) else { return [] }
        guard case .array(let items) = value else { throw wrongKind(name, value, "a list of strings") }
        var texts: [String] = []
        for (index, item) in items.enumerated() {
            guard case .string(let text) = item else { throw wrongKind("\(name)[\(index)]", item, "text") }
            texts.append(text)
        }
        return texts
    }

    /// Rejects the members that were not read.
    func end(known: [String]) throws(ControlProblem) {
        guard let name = members.keys.min() else { return }
        let list = known.map { "'\($0)'" }.joined(separator: ", ")
        throw ControlProblem(
            .invalidRequest,
            "'\(ControlProblem.shown(field(name)))' is unknown. Known names: \(list).",
            field: ControlProblem.shown(field(name)),
            value: members[name]?.shown
        )
    }

    private func wrongKind(_ name: String, _ value: JSONValue, _ expected: String) -> ControlProblem {
        var found = value.shown
        if case .string = value { found = "the text '\(found)'" }
        return ControlProblem(
            .invalidRequest,
            "'\(field(name))' must be \(expected), not \(found).",
            field: field(name),
            value: value.shown
        )
    }
}
