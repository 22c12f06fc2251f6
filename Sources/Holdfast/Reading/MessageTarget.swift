import HTTPTypes

/// The name of a request in messages, with secrets redacted.
///
/// Each piece of content has a target, but few messages need it, so the text is created on demand.
final class MessageTarget: Sendable, CustomStringConvertible, CustomReflectable {
    private enum Name {
        case request(HTTPRequest, Secrets)
        case text(String)
    }

    private let name: Name

    /// - Parameter secrets: the names of values to redact, in addition to those that are always
    ///   redacted.
    init(_ head: HTTPRequest, hiding secrets: Secrets) {
        var target = head
        // Content that outlives its request must not keep the request's credentials.
        target.headerFields = [:]
        name = .request(target, secrets)
    }

    /// - Parameter text: the name of content from another source.
    init(_ text: String) {
        name = .text(text)
    }

    /// Shows only the redacted text when content that contains this object is reflected.
    var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    var description: String {
        switch name {
        case .request(let head, let secrets): SecretRedaction(secrets).target(of: head)
        case .text(let text): text
        }
    }
}
