#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a GraphQL server found wrong, with what data there is all the same. GraphQL §7.1
///
/// It is the `cause` of a ``HoldfastError`` with code `graphQL`, whose
/// ``HoldfastError/graphQLErrors`` it is.
public struct GraphQLErrors: Error, Sendable, Hashable, CustomStringConvertible {
    /// As the server lists them.
    public var errors: [GraphQLError]
    /// The whole answer.
    public var content: Data
    /// Whether `data` stands in it and is not `null`: some fields are there, those with an error in
    /// their path are not.
    public var hasData: Bool

    /// The server does not know a persisted query by its hash, or none at all: send
    /// ``GraphQLOperation/registering``.
    public var isPersistedQueryUnknown: Bool {
        errors.contains {
            ["PersistedQueryNotFound", "PersistedQueryNotSupported"].contains($0.message)
                || ["PERSISTED_QUERY_NOT_FOUND", "PERSISTED_QUERY_NOT_SUPPORTED"].contains($0.code)
        }
    }

    /// How many, and the first one's code and path. Messages are the server's own words, and may
    /// repeat values; see ``errors``.
    public var description: String {
        let first = errors.first.map {
            "\($0.code.map { " '\($0)'" } ?? "")\($0.path.map { " at '\($0.text)'" } ?? "")"
        }
        return
            "\(errors.count) GraphQL error\(errors.count == 1 ? "" : "s")\(first.map { $0.isEmpty ? "" : ":\($0)" } ?? "")"
    }

    /// The part of the answer that is there.
    ///
    /// - Returns: `nil` where `data` is `null` or missing.
    /// - Throws: the decoder's error: fields with errors are `null`, so that a type needs optionals
    ///   there.
    public func data<Value: Decodable>(as type: Value.Type, decoder: JSONDecoder = JSONDecoder()) throws -> Value? {
        try decoder.decode(TypedContent<Value>.self, from: content).data
    }

    /// Passes an answer that is whole: it has `data` and no `errors`.
    ///
    /// It is run before an answer is stored, so that errors, and data with holes, take no good
    /// data's place.
    ///
    /// - Throws: ``HoldfastError`` with code `graphQL` where there are errors, whatever the status
    ///   was; `dataFormat` where the content is no GraphQL answer.
    public static func check(_ content: Data) throws {
        let answer: Answer
        do {
            answer = try JSONDecoder().decode(Answer.self, from: content)
        } catch {
            throw notGraphQL(content, cause: error)
        }
        guard answer.errors.isEmpty else {
            let errors = GraphQLErrors(errors: answer.errors, content: content, hasData: answer.hasValue)
            throw HoldfastError(
                code: .graphQL,
                message: "The answer has \(errors)\(errors.hasData ? ", and data beside" : ""). See 'graphQLErrors'.",
                body: Array(content),
                cause: errors
            )
        }
        guard answer.hasData else { throw notGraphQL(content, cause: nil) }
    }

    private static func notGraphQL(_ content: Data, cause: (any Error)?) -> HoldfastError {
        HoldfastError(
            code: .dataFormat,
            message:
                "The content of \(content.count) bytes is no GraphQL answer: it is no JSON object with 'data' or 'errors'.",
            body: Array(content),
            cause: cause
        )
    }
}

/// As much of an answer as tells whether it is whole.
private struct Answer: Decodable {
    let errors: [GraphQLError]
    /// Whether there is `data` at all, and whether it is more than `null`.
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
    /// As it is written in ``init(stringLiteral:)``, for messages.
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
