import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CacheRequest {
    /// Whether the request is a POST with a single GraphQL query: JSON with a document in which a
    /// query is selected. GraphQL over HTTP §6.3
    ///
    /// These do not qualify: mutations, subscriptions, batches (arrays), and content that is
    /// encoded or streamed. A request that also names the operation in its target or in an
    /// extension does not qualify either, because some servers use that name instead of the
    /// document.
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

    /// Parameters in which servers look for the operation. Some servers check them before they read
    /// the content.
    private static let operationParameters = ParameterNames([
        "query", "operationName", "variables", "extensions", "id", "documentId", "doc_id", "queryId",
    ])

    /// Returns whether a media type allows only UTF-8, so that the server reads the same text as
    /// this code. RFC 8259 §8.1
    private static func isUTF8(_ type: String) -> Bool {
        type.lowercased().split(separator: ";").dropFirst().allSatisfy { parameter in
            let text = parameter.filter { $0 != " " && $0 != "\t" }
            return !text.hasPrefix("charset") || text == "charset=utf-8" || text == "charset=\"utf-8\""
        }
    }
}

/// The parts of a GraphQL request's JSON that identify the operation.
struct GraphQLContent: Sendable, Hashable {
    /// The document.
    var query: String
    /// The name of the selected operation; `nil` if the document has only one.
    var operationName: String?

    /// Parses the content. Returns `nil` if the bytes are not a JSON object with a `query`, or if a
    /// member occurs twice or is not defined by GraphQL over HTTP. A server may interpret such
    /// content differently.
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

/// Scans JSON without creating values from it. RFC 8259
private struct JSONScanner {
    /// The maximum nesting depth of arrays and objects. Real variables are never nested that
    /// deeply.
    private static let maximumDepth = 256

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether only white space remains.
    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func take(literal: StaticString) -> Bool {
        skipSpace()
        let length = literal.utf8CodeUnitCount
        guard bytes.count - position >= length else { return false }
        for index in 0..<length where bytes[position + index] != literal.utf8Start[index] { return false }
        position += length
        return true
    }

    /// Reads the string that starts here and resolves its escapes. Returns `nil` if there is no
    /// string, or if the string contains half of a surrogate pair.
    mutating func string() -> String? {
        var result: [UInt8] = []
        let isRead = readString { part in result += part }
        return isRead ? String(validating: result, as: UTF8.self) : nil
    }

    /// Skips the string that starts here.
    private mutating func skipString() -> Bool { readString { _ in } }

    /// Reads the string that starts here.
    ///
    /// - Parameter take: called with each part of the string, with escapes resolved.
    private mutating func readString(_ take: (ArraySlice<UInt8>) -> Void) -> Bool {
        guard self.take(UInt8(ascii: "\"")) else { return false }
        while true {
            let start = position
            position = plainEnd(from: start)
            if position > start { take(bytes[start..<position]) }
            guard position < bytes.count else { return false }
            position += 1
            switch bytes[position - 1] {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return false }
                take(ArraySlice(String(Character(scalar)).utf8))
            default: return false
            }
        }
    }

    /// Returns the end of a run of string bytes that need no unescaping.
    private func plainEnd(from start: Int) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            var index = start
            while index < bytes.count, bytes[index] >= 0x20, bytes[index] != UInt8(ascii: "\""),
                bytes[index] != UInt8(ascii: "\\")
            {
                index += 1
            }
            return index
        }
    }

    /// Reads an escape after its backslash. RFC 8259 §7
    private mutating func escape() -> Unicode.Scalar? {
        guard position < bytes.count else { return nil }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: return nil
        }
        guard let unit = hexadecimal() else { return nil }
        guard 0xD800...0xDBFF ~= unit else { return Unicode.Scalar(unit) }
        guard bytes.count - position >= 2, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { return nil }
        position += 2
        guard let low = hexadecimal(), 0xDC00...0xDFFF ~= low else { return nil }
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    /// Reads four hexadecimal digits.
    private mutating func hexadecimal() -> UInt32? {
        guard bytes.count - position >= 4 else { return nil }
        var code: UInt32 = 0
        for _ in 0..<4 {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): code = code << 4 | UInt32(byte - 0x30)
            case UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                code = code << 4 | UInt32((byte | 0x20) - 0x57)
            default: return nil
            }
            position += 1
        }
        return code
    }

    /// Whether an object starts here.
    var isAtObject: Bool {
        mutating get {
            skipSpace()
            return position < bytes.count && bytes[position] == UInt8(ascii: "{")
        }
    }

    /// Reads an object.
    ///
    /// - Parameter member: reads the value of a member with this name, or rejects it.
    /// - Returns: `false` if there is no valid object, or if `member` rejected a member.
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
        skipSpace()
        guard position < bytes.count else { return false }
        switch bytes[position] {
        case UInt8(ascii: "{"):
            return skipList(from: UInt8(ascii: "{"), to: UInt8(ascii: "}")) { scanner in
                scanner.skipString() && scanner.take(UInt8(ascii: ":")) && scanner.skipValue(depth: depth + 1)
            }
        case UInt8(ascii: "["):
            return skipList(from: UInt8(ascii: "["), to: UInt8(ascii: "]")) { $0.skipValue(depth: depth + 1) }
        case UInt8(ascii: "\""): return skipString()
        case UInt8(ascii: "t"): return take(literal: "true")
        case UInt8(ascii: "f"): return take(literal: "false")
        case UInt8(ascii: "n"): return take(literal: "null")
        default: return skipNumber()
        }
    }

    private mutating func skipList(from start: UInt8, to end: UInt8, _ skip: (inout JSONScanner) -> Bool) -> Bool {
        guard take(start) else { return false }
        var isFirst = true
        while !take(end) {
            guard isFirst || take(UInt8(ascii: ",")), skip(&self) else { return false }
            isFirst = false
        }
        return true
    }

    private mutating func skipNumber() -> Bool {
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "E"), UInt8(ascii: "e"):
                position += 1
            default: return position > start
            }
        }
        return position > start
    }
}
