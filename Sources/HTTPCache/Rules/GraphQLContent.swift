import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CacheRequest {
    /// Whether it is a POST with one GraphQL query: JSON whose document has a selected query.
    /// GraphQL over HTTP §6.3
    ///
    /// Mutations, subscriptions, batches (arrays) and content that is encoded or streamed do not
    /// qualify. Nor does a request that also names the operation in its target or in an extension,
    /// because some servers use that instead of the document.
    var isGraphQLQuery: Bool {
        guard head.method == .post, case .buffer(let buffer)? = body,
            head.headerFields[values: .contentType].count == 1, let type = head.headerFields[.contentType],
            (head.headerFields[.contentEncoding] ?? "identity").lowercased() == "identity",
            Self.isUTF8(type), TargetURI(request: head)?.mayHold(Self.operationParameters) == false
        else { return false }
        let mediaType = type.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        guard mediaType == "application/json" || mediaType == "application/graphql+json",
            let content = GraphQLContent(Array(buffer.readableBytesView))
        else { return false }
        return GraphQLDocument.operation(in: content.query, named: content.operationName) == .query
    }

    /// Parameters in which servers look for the operation, some of them before they read the
    /// content.
    private static let operationParameters = ParameterNames([
        "query", "operationName", "variables", "extensions", "id", "documentId", "doc_id", "queryId",
    ])

    /// Whether a media type allows no encoding but UTF-8, so that the server reads the same text as
    /// this code. RFC 8259 §8.1
    private static func isUTF8(_ type: String) -> Bool {
        type.lowercased().split(separator: ";").dropFirst().allSatisfy { parameter in
            let text = parameter.filter { $0 != " " && $0 != "\t" }
            return !text.hasPrefix("charset") || text == "charset=utf-8" || text == "charset=\"utf-8\""
        }
    }
}

/// The JSON of a GraphQL request, as far as it identifies the operation.
struct GraphQLContent: Sendable, Hashable {
    /// The document.
    var query: String
    /// The name of the selected operation; `nil` if the document has only one.
    var operationName: String?

    /// `nil` if the bytes are no JSON object with a `query`, or if a member occurs twice or is
    /// unknown to GraphQL over HTTP. A server may interpret such content differently.
    init?(_ bytes: [UInt8]) {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var scanner = JSONScanner(bytes)
        var seen: Set<String> = []
        var query: String?
        var operationName: String?
        let isRead = scanner.readObject { scanner, name in
            guard seen.insert(name).inserted else { return false }
            switch name {
            case "query":
                query = scanner.string()
                return query != nil
            case "operationName":
                if scanner.take(literal: "null") { return true }
                operationName = scanner.string()
                return operationName?.isEmpty == false
            case "variables": return scanner.skipValue()
            case "extensions":
                // A server that knows the operation by its hash may ignore the document.
                guard scanner.isAtObject else { return scanner.skipValue() }
                return scanner.readObject { $1 != "persistedQuery" && $0.skipValue(depth: 1) }
            default: return false
            }
        }
        guard isRead, scanner.isAtEnd, let query else { return nil }
        self.query = query
        self.operationName = operationName
    }
}

/// Scans JSON without making values of it. RFC 8259
private struct JSONScanner {
    /// The deepest nesting of arrays and objects that is accepted; more than any variables have.
    private static let maximumDepth = 256

    /// The scalars that a backslash and one letter stand for.
    private static let escapes: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{08}",
        UInt8(ascii: "f"): "\u{0C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
    ]

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether only white space is left.
    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func take(literal: StaticString) -> Bool {
        skipSpace()
        let text = "\(literal)"
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    /// Reads the string that begins here and resolves its escapes; `nil` if there is none, or if it
    /// holds half a surrogate pair.
    mutating func string() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var result: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: result, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                result += Array(String(Character(scalar)).utf8)
            case 0..<0x20: return nil
            default: result.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        if let scalar = Self.escapes[bytes[position]] { return scalar }
        guard bytes[position] == UInt8(ascii: "u"), let unit = hexadecimal() else { return nil }
        guard 0xD800...0xDBFF ~= unit else { return Unicode.Scalar(unit) }
        guard bytes[(position + 1)...].starts(with: "\\u".utf8) else { return nil }
        position += 2
        guard let low = hexadecimal(), 0xDC00...0xDFFF ~= low else { return nil }
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    /// Reads four digits after the cursor, which then stands on the last of them.
    private mutating func hexadecimal() -> UInt32? {
        guard bytes.count - position > 4 else { return nil }
        let digits = bytes[(position + 1)...(position + 4)]
        // `UInt32` would accept a sign.
        guard digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else { return nil }
        position += 4
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    /// Whether an object begins here.
    var isAtObject: Bool {
        mutating get {
            skipSpace()
            return position < bytes.count && bytes[position] == UInt8(ascii: "{")
        }
    }

    /// Reads an object.
    ///
    /// - Parameter member: reads the value of a member with this name, or rejects it.
    /// - Returns: `false` if there is no valid object, or a member was rejected.
    mutating func readObject(_ member: (inout JSONScanner, String) -> Bool) -> Bool {
        guard take(UInt8(ascii: "{")) else { return false }
        var isFirst = true
        while !take(UInt8(ascii: "}")) {
            guard isFirst || take(UInt8(ascii: ",")), let name = string(), take(UInt8(ascii: ":")), member(&self, name)
            else { return false }
            isFirst = false
        }
        return true
    }

    /// Skips one value of any kind.
    mutating func skipValue(depth: Int = 0) -> Bool {
        guard depth < Self.maximumDepth else { return false }
        if isAtObject { return readObject { scanner, _ in scanner.skipValue(depth: depth + 1) } }
        if take(UInt8(ascii: "[")) {
            var isFirst = true
            while !take(UInt8(ascii: "]")) {
                guard isFirst || take(UInt8(ascii: ",")), skipValue(depth: depth + 1) else { return false }
                isFirst = false
            }
            return true
        }
        if take(literal: "true") || take(literal: "false") || take(literal: "null") { return true }
        guard position < bytes.count else { return false }
        if bytes[position] == UInt8(ascii: "\"") { return string() != nil }
        return skipNumber()
    }

    private mutating func skipNumber() -> Bool {
        let start = position
        while position < bytes.count, "+-.0123456789Ee".utf8.contains(bytes[position]) { position += 1 }
        return position > start
    }
}
