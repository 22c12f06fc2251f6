/// The markup of a page of `error-pages`, as far as it decides where a placeholder may be: values
/// are escaped for text and for quoted attributes, and mean something else in code.
struct PageMarkup {
    /// The page without its `<script>` and `<style>` elements, whose braces mean something else.
    private(set) var text = ""
    /// The parts in which escaping does not protect: code, tags outside quotes, and attributes
    /// that browsers read as code or as a page.
    private(set) var code = ""

    init(_ page: String) {
        var rest = page[...]
        while let open = rest.firstIndex(of: "<") {
            text += rest[..<open]
            rest = rest[open...]
            if rest.hasPrefix("<!--") {
                let end = rest.firstRange(of: "-->")?.upperBound ?? rest.endIndex
                text += rest[..<end]
                rest = rest[end...]
            } else {
                readTag(&rest)
            }
        }
        text += rest
    }

    /// Reads a tag, and the content of an element with code.
    private mutating func readTag(_ rest: inout Substring) {
        let start = rest
        rest = rest.dropFirst()
        guard let first = rest.first, first.isLetter || first == "/" else {
            text += "<"
            return
        }
        let name = ["script", "style"].first { rest.prefix($0.count).lowercased() == $0 }
        // The part of the tag outside quotes.
        var outside = ""
        while let next = rest.first, next != ">" {
            rest = rest.dropFirst()
            guard next == "\"" || next == "'" else {
                outside.append(next)
                continue
            }
            let value = rest.prefix { $0 != next }
            if Self.isCode(outside) { code += value + "\n" }
            outside += " "
            rest = rest[value.endIndex...].dropFirst()
        }
        code += outside + "\n"
        guard let name else {
            text += start[..<rest.startIndex]
            return
        }
        let end = "</" + name
        while let next = rest.first, next != "<" || rest.prefix(end.count).lowercased() != end {
            code.append(next)
            rest = rest.dropFirst()
        }
    }

    /// Returns whether a browser reads an attribute's value as code or as a page.
    ///
    /// - Parameter tag: the tag up to the value, without other values: `a class=  onclick=`.
    private static func isCode(_ tag: String) -> Bool {
        let name = tag.reversed().drop { $0 == "=" || $0.isWhitespace }.prefix { !$0.isWhitespace }
        let word = String(name.reversed()).lowercased()
        return word.hasPrefix("on") || word == "style" || word == "srcdoc"
    }
}
