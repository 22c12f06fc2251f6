extension RuleSet {
    /// Whether there are no rules, and no routes with a mode or tag fields. Requests then need no
    /// lookup.
    package var isEmpty: Bool { compiled.entries.isEmpty }
}
