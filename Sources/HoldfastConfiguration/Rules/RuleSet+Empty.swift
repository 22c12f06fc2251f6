extension RuleSet {
    /// Whether there are no rules, and no routes with a mode or tag fields. Requests then need no
    /// lookup.
    public var isEmpty: Bool { compiled.entries.isEmpty }
}
