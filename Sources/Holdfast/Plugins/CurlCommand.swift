import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request as a line for a POSIX shell that sends it again, with its secrets replaced.
///
/// Everything that came from outside stands in single quotes, so that the shell takes it as it is.
/// Content with control characters, or that is no UTF-8, goes through `base64 -d`; content that is
/// not shown is a file named `content`, to be put there by whoever sends it.
struct CurlCommand: Sendable, CustomStringConvertible {
    let description: String

    /// - Parameter content: `nil` where the request has none.
    init(_ head: HTTPRequest, content: ShownContent?, redaction: SecretRedaction) {
        var words = ["curl"]
        let isHead = head.method == .head
        // With '-X HEAD' curl would wait for content.
        words += isHead ? ["--head"] : ["-X", Self.quoted(head.method.rawValue)]
        let target = redaction.target(of: head)
        // curl expands brackets and braces, and resolves dot segments, of what it is given as a
        // URL.
        if target.contains(where: { "[]{}".contains($0) }) { words.append("--globoff") }
        if head.path?.contains("/.") == true { words.append("--path-as-is") }
        words.append(Self.quoted(target, always: true))
        var hasContentType = false
        for field in redaction.fields(head.headerFields) where !Self.ownFields.contains(field.name) {
            hasContentType = hasContentType || field.name == .contentType
            // 'Name:' would take the field away; with a semicolon it is sent, and empty.
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            words += ["-H", Self.quoted(line, always: true)]
        }
        guard let content else {
            description = words.joined(separator: " ")
            return
        }
        // curl would say that it is a form.
        if !hasContentType { words += ["-H", "'Content-Type:'"] }
        var source = ""
        switch content {
        case .text(let text) where text.withoutControls == text:
            // '@' at the beginning would name a file.
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

    /// What curl makes itself of URL and content.
    private static let ownFields: Set<HTTPField.Name> = [.contentLength, .transferEncoding]

    private static func decoding(_ bytes: [UInt8]) -> String {
        "printf %s '\(Data(bytes).base64EncodedString())' | base64 -d | "
    }

    /// One word to a shell, whatever is in it.
    static func quoted(_ text: String, always: Bool = false) -> String {
        // Nothing begins a second line, of a script or of a log.
        let line = text.withoutControls
        let isPlain = !line.isEmpty && line.utf8.allSatisfy { $0 >= 0x41 && $0 <= 0x5A || $0 >= 0x61 && $0 <= 0x7A }
        if isPlain, !always { return line }
        return "'" + line.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
