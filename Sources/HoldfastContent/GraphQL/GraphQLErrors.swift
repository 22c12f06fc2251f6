#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The errors of a GraphQL response, along with any data that it has. GraphQL §7.1
///
/// It is the `cause` of a ``HoldfastError`` with code `graphQL`, and the value of its
/// ``HoldfastError/graphQLErrors``.
public struct GraphQLErrors: Error, Sendable, Hashable, CustomStringConvertible {
    /// The errors in the server's order.
    public var errors: [GraphQLError]
    /// The content of the whole response.
    public var content: Data
    /// Whether the response has `data` that is not `null`. If so, some fields have values, and the
    /// fields named in an error's path do not.
    public var hasData: Bool

    /// Whether the server does not know a persisted query by its hash, or does not support
    /// persisted queries. If so, send ``GraphQLOperation/registering``.
    public var isPersistedQueryUnknown: Bool {
        errors.contains {
            ["PersistedQueryNotFound", "PersistedQueryNotSupported"].contains($0.message)
                || ["PERSISTED_QUERY_NOT_FOUND", "PERSISTED_QUERY_NOT_SUPPORTED"].contains($0.code)
        }
    }

    /// The number of errors, and the code and path of the first error. The description omits the
    /// messages, because the server writes them and may repeat values: see ``errors``.
    public var description: String {
        let first = errors.first.map {
            "\($0.code.map { " '\($0)'" } ?? "")\($0.path.map { " at '\($0.text)'" } ?? "")"
        }
        return
            "\(errors.count) GraphQL error\(errors.count == 1 ? "" : "s")\(first.map { $0.isEmpty ? "" : ":\($0)" } ?? "")"
    }

    /// Decodes the response's data.
    ///
    /// - Returns: `nil` if `data` is `null` or missing.
    /// - Throws: the decoder's error. Fields with errors are `null`, so the type must declare them
    ///   as optional.
    public func data<Value: Decodable>(as type: Value.Type, decoder: JSONDecoder = JSONDecoder()) throws -> Value? {
        try decoder.decode(TypedContent<Value>.self, from: content).data
    }

    /// Checks that a response is complete: it has `data` and no `errors`.
    ///
    /// This check runs before a response is stored, so that errors and incomplete data never
    /// replace good data.
    ///
    /// - Throws: ``HoldfastError`` with code `graphQL` if there are errors, regardless of the
    ///   status; `dataFormat` if the content is not a GraphQL response.
    public static func check(_ content: Data) throws {
        let summary: Summary
        do {
            summary = try JSONDecoder().decode(Summary.self, from: content)
        } catch {
            throw notGraphQL(content, cause: error)
        }
        guard summary.errors.isEmpty else {
            let errors = GraphQLErrors(errors: summary.errors, content: content, hasData: summary.hasValue)
            throw HoldfastError(
                code: .graphQL,
                message: "The response has \(errors)\(errors.hasData ? ", and also data" : ""). See 'graphQLErrors'.",
                body: Array(content),
                cause: errors
            )
        }
        guard summary.hasData else { throw notGraphQL(content, cause: nil) }
    }

    private static func notGraphQL(_ content: Data, cause: (any Error)?) -> HoldfastError {
        HoldfastError(
            code: .dataFormat,
            message:
                "The content of \(content.count) bytes is not a GraphQL response: it is not a JSON object with 'data' or 'errors'.",
            body: Array(content),
            cause: cause
        )
    }
}

/// The parts of a response that show whether it is complete.
private struct Summary: Decodable {
    let errors: [GraphQLError]
    /// Whether `data` is present, and whether it is not `null`.
    let hasData: Bool
    let hasValue: Bool

    private enum CodingKeys: CodingKey {
        case data, errors
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        hasData = container.contains(.data)
        hasValue = hasData ? try !container.decodeNil(forKey: .data) : false
        if try !container.contains(.errors) || container.decodeNil(forKey: .errors) {
            errors = []
        } else if let list = try? container.decode([GraphQLError].self, forKey: .errors) {
            errors = list
        } else {
            errors = [try container.decode(GraphQLError.self, forKey: .errors)]
        }
    }
}

private struct TypedContent<Value: Decodable>: Decodable {
    let data: Value?
}

extension ValuePath {
    /// The path in the format of ``init(stringLiteral:)``, for messages.
    fileprivate var text: String {
        var text = ""
        for step in steps {
            switch step {
            case .name(let name): text += text.isEmpty ? name : ".\(name)"
            case .index(let index): text += "[\(index)]"
            }
        }
        return text
    }
}

extension GraphQLErrors: LocalizedError {
    /// The number of errors, and the code and path of the first error, without the server's
    /// messages.
    public var errorDescription: String? { description }
    /// The response has errors.
    public var failureReason: String? { HoldfastError.Code.graphQL.words?.reason }
}
