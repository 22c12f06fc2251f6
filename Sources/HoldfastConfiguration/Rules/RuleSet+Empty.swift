extension RuleSet {
    /// Whether there are none, so that nothing need be asked.
    public var isEmpty: Bool { rules.isEmpty }
}
