/// What may change while an engine runs, in one piece: whoever reads it gets all as it was before a
/// change, or all as it is after.
final class EngineSettings: Sendable {
    let options: EngineOptions
    let rules: (any ExchangeRules)?

    init(options: EngineOptions, rules: (any ExchangeRules)?) {
        self.options = options
        self.rules = rules
    }
}
