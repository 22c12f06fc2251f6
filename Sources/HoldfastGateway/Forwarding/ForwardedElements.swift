import HTTPCacheSemantics

/// Removes hosts from the value of a `Forwarded` field. RFC 7239 §4
enum ForwardedElements {
    /// Returns the value without the `host` parameters of its elements. The host is not in the key,
    /// so it is never forwarded, not even from a trusted proxy. `X-Forwarded-Host` is treated the
    /// same.
    ///
    /// - Returns: `nil` if nothing is left, or if a program could still read a host in the rest,
    ///   because some programs split quoted strings.
    static func withoutHost(_ value: String) -> String? {
        guard namesHost(value) else { return value }
        let elements = split(value[...], at: ",").map { element in
            split(element, at: ";").filter { !namesHost(String($0.prefix { $0 != "\"" })) }.joined(separator: ";")
        }
        let rest = elements.filter { !$0.allSatisfy(\.isWhitespace) }.joined(separator: ",")
        return rest.isEmpty || namesHost(rest) ? nil : rest
    }

    /// Whether a program might find a `host` parameter in a text, however it splits the text.
    private static func namesHost(_ text: String) -> Bool {
        let names = text.lowercased().split(separator: "=", omittingEmptySubsequences: false).dropLast()
        return names.contains { name in
            name.split { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "_" }.last == "host"
        }
    }

    /// Returns the parts between separators, ignoring separators in quoted strings.
    private static func split(_ text: Substring, at separator: Character) -> [Substring] {
        var (parts, start, isQuoted, isEscaped) = ([Substring](), text.startIndex, false, false)
        for place in text.indices {
            if isEscaped {
                isEscaped = false
            } else if text[place] == "\"" {
                isQuoted.toggle()
            } else if isQuoted {
                isEscaped = text[place] == "\\"
            } else if text[place] == separator {
                parts.append(text[start..<place])
                start = text.index(after: place)
            }
        }
        return parts + [text[start...]]
    }
}
