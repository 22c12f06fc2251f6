import HTTPTypes

/// The name of a request in messages, with secrets redacted.
///
/// Every content carries it and few messages need it, so the text is made on demand.
final class MessageTarget: Sendable, CustomStringConvertible, CustomReflectable {
    private enum Name {
        case request(HTTPRequest, Secrets)
        case text(String)
    }

    private let name: Name

    /// - Parameter secrets: the names of values to hide, in addition to those that every message
    ///   hides.
    init(_ head: HTTPRequest, hiding secrets: Secrets) {
        var target = head
        // Content that a caller keeps must not keep its credentials.
        target.headerFields = [:]
        name = .request(target, secrets)
    }

    /// - Parameter text: the name of content from another source.
    init(_ text: String) {
        name = .text(text)
    }

    /// Reflection of content that holds this shows only the redacted text.
    var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    var description: String {
        switch name {
        case .request(let head, let secrets): SecretRedaction(secrets).target(of: head)
        case .text(let text): text
        }
    }
}
