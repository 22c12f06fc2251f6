extension RuleSet {
    /// Whether there are no rules and no routes with a mode or with fields for tags, so that
    /// requests need no lookup.
    public var isEmpty: Bool { compiled.entries.isEmpty }
}
