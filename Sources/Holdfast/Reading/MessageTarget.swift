import HTTPTypes

/// What was asked for, as messages name it: secrets redacted.
///
/// It is handed on with every content and rarely written down, so the text is made when somebody
/// wants it.
final class MessageTarget: Sendable, CustomStringConvertible, CustomReflectable {
    private enum Name {
        case request(HTTPRequest, Secrets)
        case text(String)
    }

    private let name: Name

    /// - Parameter secrets: names of what must not be shown, beside those that every message hides.
    init(_ head: HTTPRequest, hiding secrets: Secrets) {
        var target = head
        // Content that a caller keeps must not keep its credentials.
        target.headerFields = [:]
        name = .request(target, secrets)
    }

    /// - Parameter text: of content that came some other way.
    init(_ text: String) {
        name = .text(text)
    }

    /// Who looks into content that holds this sees what messages say.
    var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    var description: String {
        switch name {
        case .request(let head, let secrets): SecretRedaction(secrets).target(of: head)
        case .text(let text): text
        }
    }
}
