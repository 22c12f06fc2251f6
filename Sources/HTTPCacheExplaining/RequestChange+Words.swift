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
            ("normalize.drop-parameters", "parameter '\(name)' is taken out: neither in the key nor sent")
        case .sortedParameters: ("normalize.sort-parameters", "parameters stand in the order of their names")
        case .ignoredParameter(let name): ("ignore.parameters", "parameter '\(name)' is sent, and not in the key")
        case .removedField(let name):
            ("to-origin.remove", "field '\(name.rawName)' is taken out: neither counted nor sent")
        case .setField(let name): ("to-origin.set", "field '\(name.rawName)' is set towards the origin")
        case .ignoredField(let name):
            ("ignore.fields", "field '\(name.rawName)' is sent, and makes no difference to what is looked up")
        case .normalizedAcceptEncoding(let value):
            ("normalize.accept-encoding", "'Accept-Encoding' counts and is sent as '\(value)'")
        case .secretParameter(let name):
            ("secret", "parameter '\(name)' is sent, and counts as a credential: it is not in the key's target")
        case .keyedContent: ("store.content", "the content is part of the key")
        case .principal(.field(let name)):
            ("store.per", "stored only for its principal, which the field '\(name.rawName)' identifies")
        case .principal(.cookie(let name)):
            ("store.per", "stored only for its principal, which the cookie '\(name)' identifies")
        case .bypassed: ("bypass", "goes past the store")
        case .methodNotStored: ("store.methods", "goes past the store: its method is none of those that are stored")
        }
    }
}
