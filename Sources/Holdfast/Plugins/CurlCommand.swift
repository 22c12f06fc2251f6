import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request as a POSIX shell command line that sends it again, with its secrets replaced.
///
/// All external data is in single quotes, so that the shell does not interpret it. Content that has
/// control characters or is not UTF-8 is piped through `base64 -d`. Content that is not shown is
/// read from a file named `content`, which the user must supply.
struct CurlCommand: Sendable, CustomStringConvertible {
    let description: String

    /// - Parameter content: the content; `nil` if the request has none.
    init(_ head: HTTPRequest, content: ShownContent?, redaction: SecretRedaction) {
        var words = ["curl"]
        let isHead = head.method == .head
        // With `-X HEAD`, curl would wait for content.
        words += isHead ? ["--head"] : ["-X", Self.quoted(head.method.rawValue)]
        let target = redaction.target(of: head)
        // curl expands brackets and braces in URLs, and resolves dot segments.
        if target.contains(where: { "[]{}".contains($0) }) { words.append("--globoff") }
        if head.path?.contains("/.") == true { words.append("--path-as-is") }
        words.append(Self.quoted(target, always: true))
        var hasContentType = false
        for field in redaction.fields(head.headerFields) where !Self.ownFields.contains(field.name) {
            hasContentType = hasContentType || field.name == .contentType
            // `Name:` would remove the field; with a semicolon, curl sends it empty.
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            words += ["-H", Self.quoted(line, always: true)]
        }
        guard let content else {
            description = words.joined(separator: " ")
            return
        }
        // By default, curl would send the content as a form.
        if !hasContentType { words += ["-H", "'Content-Type:'"] }
        var source = ""
        switch content {
        case .text(let text) where text.withoutControls == text:
            // A leading `@` would name a file.
            words += [text.hasPrefix("@") ? "--data-raw" : "--data-binary", Self.quoted(text, always: true)]
        case .text(let text):
            source = Self.decoding(Array(text.utf8))
            words += ["--data-binary", "@-"]
        case .bytes(let bytes):
            source = Self.decoding(bytes)
            words += ["--data-binary", "@-"]
        case .beginning, .leftOut: words += ["--data-binary", "@content"]
        }
        description = source + words.joined(separator: " ")
    }

    /// Fields that curl generates from the URL and the content.
    private static let ownFields: Set<HTTPField.Name> = [.contentLength, .transferEncoding]

    private static func decoding(_ bytes: [UInt8]) -> String {
        "printf %s '\(Data(bytes).base64EncodedString())' | base64 -d | "
    }

    /// Quotes text as a single shell word.
    static func quoted(_ text: String, always: Bool = false) -> String {
        // The text must not start a second line in a script or a log.
        let line = text.withoutControls
        let isPlain = !line.isEmpty && line.utf8.allSatisfy { $0 >= 0x41 && $0 <= 0x5A || $0 >= 0x61 && $0 <= 0x7A }
        if isPlain, !always { return line }
        return "'" + line.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
