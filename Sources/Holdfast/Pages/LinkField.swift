import HTTPTypes

/// The `Link` field of a response. RFC 8288 §3
enum LinkField {
    /// Returns the target of the first link to the next page, as written: a URL or a relative
    /// reference. Returns `nil` if there is none.
    ///
    /// A link with `anchor` is about another resource, and is ignored, as RFC 8288 §3.2 allows. The
    /// rest of a field value after a fault is ignored, because its meaning is not certain.
    static func next(in fields: HTTPFields) -> String? {
        for field in fields where field.name.canonicalName == "link" {
            var parser = LinkParser(field.value)
            while let link = parser.next() {
                if link.isNext { return link.target }
            }
        }
        return nil
    }
}

/// One link: `<target>; name=value; name="value"`.
private struct Link {
    var target: String
    var relations: String?
    var hasAnchor = false

    /// Relation types are separated by spaces and compared without case. RFC 8288 §2.1, §3.3
    var isNext: Bool {
        guard let relations, !hasAnchor else { return false }
        return relations.split(separator: " ").contains { $0.lowercased() == "next" }
    }
}

/// Reads the links of one field value, in order. RFC 8288 §B.2
private struct LinkParser {
    private var rest: Substring.UTF8View

    init(_ value: String) { rest = Substring(value).utf8 }

    /// Returns the next link; `nil` at the end or at a fault.
    mutating func next() -> Link? {
        skip { $0.isSpace || $0 == UInt8(ascii: ",") }
        guard take("<") else { return nil }
        let target = take { $0 != UInt8(ascii: ">") }
        guard take(">") else { return nil }
        var link = Link(target: target)
        skip { $0.isSpace }
        while take(";") {
            skip { $0.isSpace }
            let name = take { ![UInt8(ascii: "="), UInt8(ascii: ";"), UInt8(ascii: ",")].contains($0) && !$0.isSpace }
            skip { $0.isSpace }
            var value = ""
            if take("=") {
                skip { $0.isSpace }
                guard let text = takeValue() else { return nil }
                value = text
            }
            skip { $0.isSpace }
            switch name.lowercased() {
            // Only the first `rel` counts. RFC 8288 §3.3
            case "rel": link.relations = link.relations ?? value
            case "anchor": link.hasAnchor = true
            default: break
            }
        }
        return rest.isEmpty || rest.first == UInt8(ascii: ",") ? link : nil
    }

    /// Takes a token or a quoted string; `nil` if the quote has no end.
    private mutating func takeValue() -> String? {
        guard take("\"") else { return take { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") && !$0.isSpace } }
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                bytes.append(escaped)
            default: bytes.append(byte)
            }
        }
        return nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        _ = rest.popFirst()
        return true
    }

    private mutating func take(while isPart: (UInt8) -> Bool) -> String {
        let part = rest.prefix(while: isPart)
        rest = rest[part.endIndex...]
        return String(decoding: part, as: UTF8.self)
    }

    private mutating func skip(while isPart: (UInt8) -> Bool) { rest = rest.drop(while: isPart) }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
