/// The part of a GraphQL document that this origin reads: the operations and their top-level
/// fields.
///
/// This is not a GraphQL engine: it has no schema, type checking, fragments or selections. A
/// response contains an operation's top-level fields completely, whatever is selected below them.
/// The parser follows the grammar (comments, strings, commas, aliases, variables), so clients can
/// format their queries freely.
struct GraphQLDocument {
    enum OperationKind: String {
        case query, mutation, subscription
    }

    struct Operation {
        let kind: OperationKind
        let name: String?
        let fields: [Field]
    }

    struct Field {
        /// The name of the field in the response: the alias, or the field's own name.
        let responseKey: String
        let name: String
        let arguments: [String: GraphQLValue]
    }

    let operations: [Operation]

    /// Reads a document.
    ///
    /// - Throws: ``GraphQLSyntaxError``.
    init(_ text: String) throws {
        var parser = GraphQLParser(try GraphQLLexer.tokens(of: text))
        var operations: [Operation] = []
        while !parser.isAtEnd {
            if let operation = try parser.definition() { operations.append(operation) }
        }
        guard !operations.isEmpty else { throw GraphQLSyntaxError("the document contains no operation") }
        self.operations = operations
    }

    /// Returns the operation with the given name, or the only operation if no name is given.
    func operation(named name: String?) throws -> Operation {
        guard let name else {
            guard operations.count == 1 else {
                throw GraphQLSyntaxError(
                    "there are \(operations.count) operations, and none is named in 'operationName'"
                )
            }
            return operations[0]
        }
        guard let operation = operations.first(where: { $0.name == name }) else {
            throw GraphQLSyntaxError("the document contains no operation named '\(name)'")
        }
        return operation
    }
}

/// An argument's value, of a type that this origin's arguments have.
enum GraphQLValue: Equatable {
    case string(String)
    case integer(Int)
    case boolean(Bool)
    case variable(String)
    /// A value that is skipped: a list, object, float, enum or null.
    case other
}

/// The error for a document that cannot be parsed.
struct GraphQLSyntaxError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
