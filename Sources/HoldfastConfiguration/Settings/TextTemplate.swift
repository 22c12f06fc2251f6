import CacheRules

/// Text with placeholders in braces, such as `{title}`. Other braces are ordinary text, as in CSS.
package struct TextTemplate<Name>: Sendable, Hashable
where Name: RawRepresentable & CaseIterable & Hashable & Sendable, Name.RawValue == String {
    private enum Piece: Sendable, Hashable {
        case text(String)
        case placeholder(Name)
    }

    private var pieces: [Piece] = []

    package init(_ text: String) {
        var (literal, rest) = ("", text[...])
        while let brace = rest.firstIndex(of: "{") {
            literal += rest[..<brace]
            let inner = rest[brace...].dropFirst()
            if let name = Name.allCases.first(where: { inner.hasPrefix($0.rawValue + "}") }) {
                pieces += [.text(literal), .placeholder(name)]
                literal = ""
                rest = inner.dropFirst(name.rawValue.count + 1)
            } else {
                literal.append("{")
                rest = inner
            }
        }
        pieces.append(.text(literal + rest))
    }

    /// The number of placeholders.
    package var count: Int { pieces.count / 2 }

    /// The first placeholder; `nil` if there is none.
    var first: Name? {
        for case .placeholder(let name) in pieces { return name }
        return nil
    }

    /// The text before the first placeholder.
    var start: String { if case .text(let text)? = pieces.first { text } else { "" } }

    func has(_ name: Name) -> Bool { pieces.contains(.placeholder(name)) }

    /// Whether the text between placeholders has a brace, as an unknown placeholder has.
    var hasOtherBraces: Bool {
        pieces.contains { if case .text(let text) = $0 { text.contains { "{}".contains($0) } } else { false } }
    }

    /// Returns the text with a value for each placeholder.
    package func filled(_ value: (Name) -> String) -> String {
        var text = ""
        for piece in pieces {
            switch piece {
            case .text(let literal): text += literal
            case .placeholder(let name): text += value(name)
            }
        }
        return text
    }
}

extension TextTemplate {
    /// Returns a message about the first name in braces that is no placeholder; `nil` if there is
    /// none. `${name}`, as in scripts, is ordinary text.
    static func unknownPlaceholder(in text: some StringProtocol) -> String? {
        var rest = Substring(text)
        var last: Character?
        while let brace = rest.firstIndex(of: "{") {
            if brace > rest.startIndex { last = rest[rest.index(before: brace)] }
            let inner = rest[brace...].dropFirst()
            let name = inner.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            if last != "$", name.first?.isLetter == true, inner.dropFirst(name.count).first == "}",
                Name(rawValue: String(name)) == nil
            {
                return message(about: String(name))
            }
            rest = inner
            last = "{"
        }
        return nil
    }

    private static func message(about name: String) -> String {
        let known = Name.allCases.map(\.rawValue)
        let advice = nearest(to: name, of: known).map { "Did you mean '{\($0)}'? " } ?? ""
        let all = known.map { "'{\($0)}'" }.joined(separator: ", ")
        return "The placeholder \(shown("{\(name)}")) is unknown. \(advice)Known placeholders: \(all)."
    }
}
