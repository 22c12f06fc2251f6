extension RuleSet {
    /// Whether there are no rules and no routes with a mode, so that nothing need be asked.
    public var isEmpty: Bool { compiled.entries.isEmpty }
}
