import HTTPCache
import HTTPTypes

extension Explanation.RequestChange {
    init(_ change: PreparedRequest.Change, _ decisions: [RuleDecision]) {
        let (setting, summary) = change.words
        let decision = decisions.first { $0.setting == setting }
        self.init(summary: summary, setting: setting, rule: decision?.rule, line: decision?.line)
    }
}

extension PreparedRequest.Change {
    /// The setting's name in a file, and the change in words.
    fileprivate var words: (setting: String, summary: String) {
        switch self {
        case .droppedParameter(let name):
            ("normalize.drop-parameters", "parameter '\(name)' is removed: not in the key and not sent")
        case .sortedParameters: ("normalize.sort-parameters", "parameters are sorted by name")
        case .ignoredParameter(let name): ("ignore.parameters", "parameter '\(name)' is sent, but is not in the key")
        case .removedField(let name):
            ("to-origin.remove", "field '\(name.rawName)' is removed: not considered and not sent")
        case .setField(let name): ("to-origin.set", "field '\(name.rawName)' is set for the origin")
        case .ignoredField(let name):
            ("ignore.fields", "field '\(name.rawName)' is sent, but does not affect the lookup")
        case .droppedCookie(let name): ("cookies", "cookie '\(name)' is removed: not considered and not sent")
        case .forwardedCookie(let name):
            ("cookies", "cookie '\(name)' is sent, but is not in the key, so the response is not stored")
        case .listedCookie(let name): ("vary", "the value of cookie '\(name)' selects the response")
        case .unlistedCookie(let name): ("vary", "cookie '\(name)' is removed: its value is not listed")
        case .listedField(let name): ("vary", "the value of field '\(name.rawName)' selects the response")
        case .unlistedField(let name): ("vary", "field '\(name.rawName)' is removed: its value is not listed")
        case .unreadCookies:
            ("cookies", "'Cookie' cannot be read reliably, so all of it counts as a credential")
        case .normalizedAcceptEncoding(let value):
            ("normalize.accept-encoding", "'Accept-Encoding' is treated and sent as '\(value)'")
        case .secretParameter(let name):
            ("secret", "parameter '\(name)' is sent, and is treated as a credential: not in the key's target")
        case .keyedContent: ("store.content", "the content is part of the key")
        case .keyedJSON: ("store.content", "the content is part of the key, as JSON in canonical form")
        case .ignoredMember(let path):
            ("ignore.members", "member '\(path)' of the content is sent, but is not in the key")
        case .principal(.field(let name)):
            ("store.per", "stored only for the principal that the field '\(name.rawName)' identifies")
        case .principal(.cookie(let name)):
            ("store.per", "stored only for the principal that the cookie '\(name)' identifies")
        case .bypassed: ("bypass", "bypasses the store")
        case .methodNotStored: ("store.methods", "bypasses the store: its method is not in 'store.methods'")
        case .credentialsNotStored: ("credentials", "bypasses the store: it has credentials")
        }
    }
}
