import CacheRules
import HTTPCacheSemantics
import HTTPTypes

/// `respond` of a route: a response that the gateway makes without an origin.
package struct FixedAnswer: Sendable, Hashable {
    /// The parts of the request's target in a location.
    package enum Placeholder: String, CaseIterable, Sendable {
        /// The path as received, from its first slash.
        case path
        /// A question mark and the query as received; nothing if the request has none.
        case query
    }

    /// `status`
    package var status: Int
    /// `location`, as given.
    package var location: String?
    /// `body`; empty for a response without content.
    package var body = ""
    /// `content-type`; `nil` for plain text.
    package var contentType: String?

    /// The maximum length of ``body``, in bytes.
    package static let bodyLimit = 4 << 10
    /// The maximum length of ``location``, in bytes.
    package static let locationLimit = 2 << 10

    /// Returns the value of `Location` for a request; `nil` if the response has none.
    ///
    /// The target's bytes are kept, so a percent-encoded line break stays percent-encoded. Bytes
    /// that a target cannot have are percent-encoded.
    package func location(for target: String) -> String? {
        guard let location else { return nil }
        let path = target.prefix { $0 != "?" }
        let query = target[path.endIndex...]
        return TextTemplate<Placeholder>(location).filled { placeholder in
            switch placeholder {
            case .path: (path.utf8.first == UInt8(ascii: "/") ? "" : "/") + Self.visible(path)
            case .query: Self.visible(query)
            }
        }
    }

    private static func visible(_ text: Substring) -> String {
        if text.utf8.allSatisfy(\.isVisible) { return String(text) }
        var visible = ""
        for byte in text.utf8 {
            if byte.isVisible {
                visible.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                visible += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return visible
    }
}

extension Readers {
    private static let redirects: Set<Int> = [301, 302, 303, 307, 308]
    /// Statuses that need fields or a request that a fixed response does not have.
    private static let unsupported: Set<Int> = [206, 304, 401, 405, 407, 416, 426]

    static let fixedAnswerShape = Shape.mapping([
        .init("status", .integer(200...599), isRequired: true, describedBy: "route.respond.status"),
        .init("location", .text, describedBy: "route.respond.location"),
        .init("body", .text, describedBy: "route.respond.body"),
        .init("content-type", .text, describedBy: "route.respond.content-type"),
    ])

    static func fixedAnswer(_ value: FileValue) throws(Refusal) -> FixedAnswer {
        var answer = FixedAnswer(status: 0)
        for entry in try value.entries("'{status: NUMBER, location: URL}' or '{status: NUMBER, body: TEXT}'") {
            switch entry.key {
            case "status": answer.status = try entry.value.integer(200...599)
            case "location": answer.location = try location(entry.value)
            case "body": answer.body = try entry.value.text("text")
            case "content-type": answer.contentType = try entry.value.text("a media type such as 'text/html'")
            default: throw unknown(entry, of: ["status", "location", "body", "content-type"])
            }
        }
        try check(answer)
        return answer
    }

    private static func check(_ answer: FixedAnswer) throws(Refusal) {
        let status = answer.status
        guard status > 0 else { throw Refusal("'status' is missing. Write a status such as 301 or 404.") }
        guard !unsupported.contains(status) else {
            throw Refusal("Status \(status) needs fields that a fixed response does not have. Use another status.")
        }
        guard redirects.contains(status) == (answer.location != nil) else {
            throw Refusal(
                answer.location == nil
                    ? "Status \(status) redirects, so it needs a 'location'."
                    : "'location' has no effect with status \(status). Use 301, 302, 303, 307 or 308."
            )
        }
        guard answer.body.isEmpty || status != 204 && status != 205 else {
            throw Refusal("A response with status \(status) has no content. Remove 'body'.")
        }
        guard answer.body.utf8.count <= FixedAnswer.bodyLimit else {
            throw Refusal("'body' has \(answer.body.utf8.count) bytes. The limit is \(FixedAnswer.bodyLimit).")
        }
        guard let type = answer.contentType else { return }
        guard !answer.body.isEmpty else { throw Refusal("'content-type' has no effect without a 'body'. Remove it.") }
        guard type.contains("/"), type.utf8.count <= 256, HTTPField.isValidValue(type) else {
            throw Refusal("\(shown(type)) is not a media type such as 'text/html; charset=utf-8'.")
        }
    }

    /// Reads the target of a redirect. Its host is literal text, so no request can choose it.
    private static func location(_ value: FileValue) throws(Refusal) -> String {
        let text = try value.text("a URL such as 'https://www.example.com{path}{query}'")
        let template = TextTemplate<FixedAnswer.Placeholder>(text)
        if let message = TextTemplate<FixedAnswer.Placeholder>.unknownPlaceholder(in: text) { throw Refusal(message) }
        guard text.utf8.count <= FixedAnswer.locationLimit, text.utf8.allSatisfy(\.isVisible), !template.hasOtherBraces
        else {
            throw Refusal(
                "\(value.shown) is not a URL of at most \(FixedAnswer.locationLimit) visible ASCII characters with the placeholders '{path}' and '{query}'."
            )
        }
        guard namesHost(template) else {
            throw Refusal(
                "\(value.shown) must begin with 'http://' or 'https://' and a host, or with a path such as '/new', before any placeholder. "
                    + "Otherwise a request could choose the host."
            )
        }
        if template.has(.query), text.contains("?") {
            throw Refusal("\(value.shown) has a '?' and '{query}', which begins with one. Remove one of them.")
        }
        return text
    }

    /// Whether the text before the first placeholder decides the host: an absolute URL, or a path
    /// that is not the beginning of `//host`.
    private static func namesHost(_ location: TextTemplate<FixedAnswer.Placeholder>) -> Bool {
        let start = location.start
        if start.hasPrefix("/") {
            guard let next = start.dropFirst().first else { return location.count == 0 }
            return next != "/" && next != "\\"
        }
        return ["http://", "https://"].contains { start.lowercased().hasPrefix($0) } && (try? TargetURI(start)) != nil
    }
}
