import HTTPTypes

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension GraphQLOperation {
    /// The media type of the content, `application/json`.
    package static let contentType = "application/json"
    /// The media types that are accepted by default: the GraphQL media type, and the type that
    /// older servers send. GraphQL over HTTP §5
    package static let acceptedTypes = "application/graphql-response+json, application/json;q=0.9"

    /// Whether the response may be stored and reused.
    package var isStorable: Bool { kind == .query && form != .registering }

    /// Encodes the operation as the content of a POST request. GraphQL over HTTP §6.3
    package func content() throws -> Data {
        try check()
        var members = RequestParameters()
        if form != .persisted { members["query"] = .string(query) }
        if let operationName { members["operationName"] = .string(operationName) }
        if !variables.isEmpty { members["variables"] = .object(variables) }
        if let extensions { members["extensions"] = .object(extensions) }
        return try JSONContentEncoder().encode(members)
    }

    /// Encodes the operation as the query of a GET request. GraphQL over HTTP §6.2
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` if the operation is not a query,
    ///   because safe methods can run only queries. GraphQL over HTTP §6.2.1
    package func parameters() throws -> RequestParameters {
        try check()
        guard kind == .query else {
            throw HoldfastError(
                code: .encodingFailed,
                message:
                    "The GraphQL operation \(operationName.map { "'\($0)' " } ?? "")is not a query, and GET runs only queries. Send it with POST."
            )
        }
        var parameters = RequestParameters()
        if form != .persisted { parameters["query"] = .string(query) }
        if let operationName { parameters["operationName"] = .string(operationName) }
        if !variables.isEmpty { parameters["variables"] = try json(variables) }
        if let extensions { parameters["extensions"] = try json(extensions) }
        return parameters
    }

    /// The fields for Apollo's persisted queries, version 1.
    /// <https://www.apollographql.com/docs/apollo-server/performance/apq>
    private var extensions: RequestParameters? {
        form == .document ? nil : ["persistedQuery": .object(["version": 1, "sha256Hash": documentHash])]
    }

    private func json(_ parameters: RequestParameters) throws -> ParameterValue {
        .string(String(decoding: try JSONContentEncoder().encode(parameters), as: UTF8.self))
    }

    private func check() throws {
        guard query.contains(where: { !$0.isWhitespace }) else {
            throw HoldfastError(
                code: .parametersMissing,
                message: "The GraphQL operation has no document. Supply its text, even if only its hash is sent."
            )
        }
    }
}
