extension RuleSet {
    /// Whether there are no rules and no routes with a mode, so that requests need no lookup.
    public var isEmpty: Bool { compiled.entries.isEmpty }
}
