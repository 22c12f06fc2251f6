import HTTPCache
import HTTPTypes

/// Rules for tests: a function of the request.
struct TestRules: ExchangeRules {
    private let resolve: @Sendable (HTTPRequest) -> RequestRules

    init(_ resolve: @escaping @Sendable (HTTPRequest) -> RequestRules) { self.resolve = resolve }

    /// The same rules for every request.
    init(_ change: (inout ExchangeSettings) -> Void) {
        let rules = RequestRules.with(change)
        self.init { _ in rules }
    }

    func rules(for request: HTTPRequest) -> RequestRules { resolve(request) }

    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
}

extension RequestRules {
    static func with(_ change: (inout ExchangeSettings) -> Void) -> RequestRules {
        var settings = ExchangeSettings()
        change(&settings)
        return RequestRules(settings: settings)
    }

    /// Rules that apply only to responses of one media type.
    static func with(_ mediaType: String, _ change: (inout ExchangeSettings) -> Void) -> RequestRules {
        var changed = ExchangeSettings()
        change(&changed)
        let settings = changed
        return RequestRules { $0 == mediaType ? settings : ExchangeSettings() }
    }
}
