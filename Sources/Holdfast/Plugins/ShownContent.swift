import HTTPCacheSemantics
import HTTPTypes

/// Content as a log shows it: with a limit, and without secrets as far as names and the request's
/// own secrets tell of them.
enum ShownContent: Sendable, Hashable {
    /// Readable, whole.
    case text(String)
    /// Readable, the beginning of it.
    case beginning(String)
    /// Not readable; whole.
    case bytes([UInt8])
    /// Not shown: too long, of a kind whose secrets cannot be told, or not asked for.
    case leftOut

    /// - Parameters:
    ///   - bytes: the content, or its beginning.
    ///   - isWhole: whether that is all of it.
    ///   - fields: those of the message that it is the content of.
    ///   - secrets: values that are not shown wherever they stand.
    init(
        _ bytes: [UInt8],
        isWhole: Bool,
        fields: HTTPFields,
        redaction: SecretRedaction,
        secrets: [[UInt8]]
    ) {
        let type = (fields[.contentType] ?? "").prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
        // Forms in parts have secrets under names that are not looked for; what is compressed
        // cannot be looked into.
        let isOpaque = type.hasPrefix("multipart/") || fields[.contentEncoding].map { $0 != "identity" } ?? false
        if isOpaque {
            self = .leftOut
            return
        }
        var shown = bytes
        if type.hasSuffix("json") {
            shown = redaction.json(shown)
        } else if type == "application/x-www-form-urlencoded" || type.hasPrefix("text/") {
            shown = Array(redaction.parameters(in: String(decoding: shown, as: UTF8.self)).utf8)
        } else if shown.first == UInt8(ascii: "{") || shown.first == UInt8(ascii: "[") {
            shown = redaction.json(shown)
        }
        shown = shown.hiding(secrets)
        if !isWhole {
            // A secret may be cut in two by the limit: what could be the beginning of one at the
            // end goes.
            shown = shown.droppingBeginnings(of: secrets)
        }
        let text = String(validating: shown, as: UTF8.self)
        switch (text, isWhole) {
        case (let text?, true): self = .text(text)
        case (let text?, false): self = .beginning(text)
        case (nil, true): self = .bytes(shown)
        case (nil, false):
            // The limit may have fallen within a character.
            let readable = (1...3).lazy.compactMap { String(validating: shown.dropLast($0), as: UTF8.self) }.first
            self = readable.map(Self.beginning) ?? .leftOut
        }
    }

    /// For a line of a log; `nil` where nothing is shown.
    var line: String? {
        switch self {
        case .text(let text): text.withoutControls
        case .beginning(let text): text.withoutControls + "…"
        case .bytes(let bytes): "<\(bytes.count) bytes>"
        case .leftOut: nil
        }
    }
}

extension String {
    /// On one line: control characters as escapes, so that content cannot pass for lines of the
    /// log, or speak to a terminal.
    var withoutControls: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator:
                    result += "\\u{\(String(scalar.value, radix: 16))}"
                default: result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }
}

extension [UInt8] {
    fileprivate func droppingBeginnings(of values: [[UInt8]]) -> [UInt8] {
        let longest = values.flatMap { value in
            (1..<value.count).filter { suffix($0).elementsEqual(value.prefix($0)) }
        }
        return dropLast(longest.max() ?? 0)
    }
}
