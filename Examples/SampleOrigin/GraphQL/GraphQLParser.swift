/// Parses the tokens of a document. ``GraphQLDocument`` says which part of the language it reads.
struct GraphQLParser {
    private var tokens: ArraySlice<GraphQLLexer.Token>

    init(_ tokens: [GraphQLLexer.Token]) {
        self.tokens = tokens[...]
    }

    var isAtEnd: Bool { tokens.isEmpty }

    /// Parses one definition. Returns `nil` for a fragment, which is skipped.
    mutating func definition() throws -> GraphQLDocument.Operation? {
        if tokens.first == .punctuator("{") {
            return GraphQLDocument.Operation(kind: .query, name: nil, fields: try selectionSet())
        }
        let keyword = try name("an operation")
        if keyword == "fragment" {
            while let token = tokens.first, token != .punctuator("{") { tokens.removeFirst() }
            try skipBalanced()
            return nil
        }
        guard let kind = GraphQLDocument.OperationKind(rawValue: keyword) else {
            throw GraphQLSyntaxError("unexpected '\(keyword)' where an operation should begin")
        }
        var operationName: String?
        if case .name(let name) = tokens.first {
            operationName = name
            tokens.removeFirst()
        }
        if tokens.first == .punctuator("(") { try skipBalanced() }
        try skipDirectives()
        return GraphQLDocument.Operation(kind: kind, name: operationName, fields: try selectionSet())
    }

    private mutating func selectionSet() throws -> [GraphQLDocument.Field] {
        try expect("{")
        var fields: [GraphQLDocument.Field] = []
        while tokens.first != .punctuator("}") {
            if tokens.first == .punctuator(".") {
                throw GraphQLSyntaxError("fragments at the top level are not understood by this origin")
            }
            fields.append(try field())
        }
        tokens.removeFirst()
        guard !fields.isEmpty else { throw GraphQLSyntaxError("a selection is empty") }
        return fields
    }

    private mutating func field() throws -> GraphQLDocument.Field {
        let key = try name("a field")
        var fieldName = key
        if tokens.first == .punctuator(":") {
            tokens.removeFirst()
            fieldName = try name("a field after its alias")
        }
        var arguments: [String: GraphQLValue] = [:]
        if tokens.first == .punctuator("(") {
            tokens.removeFirst()
            while tokens.first != .punctuator(")") {
                let argument = try name("an argument")
                try expect(":")
                arguments[argument] = try value()
            }
            tokens.removeFirst()
        }
        try skipDirectives()
        if tokens.first == .punctuator("{") { try skipBalanced() }
        return GraphQLDocument.Field(responseKey: key, name: fieldName, arguments: arguments)
    }

    private mutating func value() throws -> GraphQLValue {
        switch tokens.first {
        case .string(let text):
            tokens.removeFirst()
            return .string(text)
        case .number(let text):
            tokens.removeFirst()
            return Int(text).map(GraphQLValue.integer) ?? .other
        case .punctuator("$"):
            tokens.removeFirst()
            return .variable(try name("a variable"))
        case .name(let text):
            tokens.removeFirst()
            return Bool(text).map(GraphQLValue.boolean) ?? .other
        case .punctuator("["), .punctuator("{"):
            try skipBalanced()
            return .other
        default:
            throw GraphQLSyntaxError("a value is missing")
        }
    }

    private mutating func skipDirectives() throws {
        while tokens.first == .punctuator("@") {
            tokens.removeFirst()
            _ = try name("a directive")
            if tokens.first == .punctuator("(") { try skipBalanced() }
        }
    }

    /// Skips from an opening bracket to its closing bracket.
    private mutating func skipBalanced() throws {
        var depth = 0
        while let token = tokens.popFirst() {
            switch token {
            case .punctuator("{"), .punctuator("("), .punctuator("["): depth += 1
            case .punctuator("}"), .punctuator(")"), .punctuator("]"): depth -= 1
            default: break
            }
            if depth == 0 { return }
        }
        throw GraphQLSyntaxError("a bracket is not closed")
    }

    private mutating func name(_ what: String) throws -> String {
        guard case .name(let name) = tokens.popFirst() else {
            throw GraphQLSyntaxError("the name of \(what) is missing")
        }
        return name
    }

    private mutating func expect(_ character: Character) throws {
        guard tokens.popFirst() == .punctuator(character) else { throw GraphQLSyntaxError("'\(character)' is missing") }
    }
}
