import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CacheRequest {
    /// Whether the request is a POST with a single GraphQL query: JSON with a document whose
    /// selected operation is a query. GraphQL over HTTP §6.3
    ///
    /// These do not qualify: mutations, subscriptions, batches (arrays), and content that is
    /// encoded or streamed. A request that also names the operation in its target or in an
    /// extension does not qualify either, because some servers use that name instead of the
    /// document.
    var isGraphQLQuery: Bool {
        guard head.method == .post else { return false }
        if contentDigest != nil { return digestForm == nil || digestForm == .graphQL }
        guard case .buffer(let buffer)? = body, let type = plainMediaType,
            TargetURI(request: head)?.mayHold(Self.operationParameters) == false
        else { return false }
        guard ["application/json", "application/graphql+json"].contains(type),
            let content = GraphQLContent(Array(buffer.readableBytesView))
        else { return false }
        return GraphQLDocument.operation(in: content.query, named: content.operationName) == .query
    }

    /// The media type of content that a server reads as UTF-8 and does not decode; `nil` if that is
    /// not certain.
    var plainMediaType: String? {
        guard head.headerFields[values: .contentType].count == 1, let type = head.headerFields[.contentType],
            (head.headerFields[.contentEncoding] ?? "identity").lowercased() == "identity", Self.isUTF8(type)
        else { return nil }
        return type.mediaType
    }

    /// Parameters in which servers look for the operation. Some servers check them before they read
    /// the content.
    private static let operationParameters = ParameterNames([
        "query", "operationName", "variables", "extensions", "id", "documentId", "doc_id", "queryId",
    ])

    /// Returns whether a media type allows only UTF-8, so that the server reads the same text as
    /// this code. RFC 8259 §8.1
    private static func isUTF8(_ type: String) -> Bool {
        type.lowercased().split(separator: ";").allSatisfy { part in
            let text = part.filter { $0 != " " && $0 != "\t" }
            return !text.contains("charset") || text == "charset=utf-8" || text == "charset=\"utf-8\""
        }
    }
}

/// The parts of a GraphQL request's JSON that identify the operation.
struct GraphQLContent: Sendable, Hashable {
    /// The document.
    var query: String
    /// The name of the selected operation; `nil` if the document has only one.
    var operationName: String?

    /// The maximum nesting depth of arrays and objects. Real content is never nested that deeply.
    private static let maximumDepth = 256

    /// Reads a request's JSON. Returns `nil` if the bytes are not a JSON object with a `query`, or
    /// if a member occurs twice or is unknown to GraphQL over HTTP. A server may interpret such
    /// content differently.
    init?(_ bytes: [UInt8]) {
        var seen: Set<String> = []
        var query: String?
        var operationName: String?
        do throws(JSONScanner.ScanError) {
            try JSONScanner.read(bytes, maximumDepth: Self.maximumDepth) { scanner throws(JSONScanner.ScanError) in
                guard case .object = try scanner.next() else { throw .notJSON }
                try scanner.object { scanner, name throws(JSONScanner.ScanError) in
                    guard seen.insert(name).inserted else { throw .repeated(name) }
                    let part = try scanner.next()
                    switch (name, part) {
                    case ("query", .string(let text)): query = text
                    case ("operationName", .string(let name)) where !name.isEmpty: operationName = name
                    case ("operationName", .null): break
                    // A server that knows the operation by its hash may ignore the document.
                    case ("extensions", .object):
                        try scanner.object { scanner, name throws(JSONScanner.ScanError) in
                            guard name != "persistedQuery" else { throw .notJSON }
                            try scanner.skip(scanner.next())
                        }
                    case ("variables", _), ("extensions", _): try scanner.skip(part)
                    default: throw .notJSON
                    }
                }
            }
        } catch {
            return nil
        }
        guard let query else { return nil }
        self.query = query
        self.operationName = operationName
    }
}
