import HTTPCacheSemantics
import HTTPTypes

/// Content as shown in a log: limited in length, and without secrets that can be recognized by
/// their names or that occur in the request.
enum ShownContent: Sendable, Hashable {
    /// Readable and complete.
    case text(String)
    /// Readable, but only the start.
    case beginning(String)
    /// Not readable, but complete.
    case bytes([UInt8])
    /// Omitted, because the content is too long, has a type in which secrets cannot be found, or
    /// was not requested.
    case leftOut

    /// - Parameters:
    ///   - bytes: the content or its start.
    ///   - isWhole: whether the bytes are the complete content.
    ///   - fields: the fields of the message that contains the content.
    ///   - secrets: values to redact wherever they occur.
    init(
        _ bytes: [UInt8],
        isWhole: Bool,
        fields: HTTPFields,
        redaction: SecretRedaction,
        secrets: [[UInt8]]
    ) {
        let type = fields[.contentType]?.mediaType ?? ""
        // Multipart forms contain secrets under names that are not searched, and compressed content
        // cannot be searched.
        let isOpaque = type.hasPrefix("multipart") || fields[.contentEncoding].map { $0 != "identity" } ?? false
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
            // The limit may have split a secret, so remove an ending that may be the start of a
            // secret.
            shown = shown.droppingBeginnings(of: secrets)
        }
        let text = String(validating: shown, as: UTF8.self)
        switch (text, isWhole) {
        case (let text?, true): self = .text(text)
        case (let text?, false): self = .beginning(text)
        case (nil, true): self = .bytes(shown)
        case (nil, false):
            // The limit may have split a character.
            let readable = (1...3).lazy.compactMap { String(validating: shown.dropLast($0), as: UTF8.self) }.first
            self = readable.map(Self.beginning) ?? .leftOut
        }
    }

    /// The text for a log line; `nil` if no content is shown.
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
    /// The text on one line with control characters escaped, so that content cannot fake log lines
    /// or control a terminal.
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
