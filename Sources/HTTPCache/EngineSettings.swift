/// The options and rules of a running engine, replaced as one object. A reader sees both from
/// before a change, or both from after it.
final class EngineSettings: Sendable {
    let options: EngineOptions
    let rules: (any ExchangeRules)?

    init(options: EngineOptions, rules: (any ExchangeRules)?) {
        self.options = options
        self.rules = rules
    }
}
