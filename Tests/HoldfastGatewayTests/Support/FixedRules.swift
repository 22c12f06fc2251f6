import HTTPCache
import HTTPTypes
import Synchronization

/// The same rules for every request.
struct FixedRules: ExchangeRules {
    private let rules: RequestRules

    init(_ settings: ExchangeSettings) { rules = RequestRules(settings: settings) }

    func rules(for request: HTTPRequest) -> RequestRules { rules }
    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
}

/// Rules that first change nothing, and later make every request bypass the store.
final class SwitchedRules: ExchangeRules {
    private let current = Mutex(RequestRules.none)

    func bypass() {
        var settings = ExchangeSettings()
        settings.isBypassed = true
        let rules = RequestRules(settings: settings)
        current.withLock { $0 = rules }
    }

    func rules(for request: HTTPRequest) -> RequestRules { current.withLock { $0 } }
    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
}
