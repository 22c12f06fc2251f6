/// What can be switched without another version of the program. Given to whoever needs it, never looked up.
public struct FeatureToggles: Sendable, Hashable {
    /// Requests go out as GraphQL instead of REST.
    public var usesGraphQL: Bool
    /// Moments can be liked.
    public var allowsLikes: Bool

    public init(usesGraphQL: Bool = false, allowsLikes: Bool = true) {
        self.usesGraphQL = usesGraphQL
        self.allowsLikes = allowsLikes
    }
}

/// A feature that is switched off was asked for.
public struct FeatureIsOff: Error, Sendable, CustomStringConvertible {
    public var feature: String
    public var description: String { "'\(feature)' is switched off." }
}
