/// What can be switched without another version of the program. Given to whoever needs it, never
/// looked up.
public struct FeatureToggles: Sendable, Hashable {
    /// Requests go out as GraphQL instead of REST.
    public var usesGraphQL: Bool
    /// Moments can be liked.
    public var allowsLikes: Bool

    /// REST, and with likes, unless told otherwise.
    public init(usesGraphQL: Bool = false, allowsLikes: Bool = true) {
        self.usesGraphQL = usesGraphQL
        self.allowsLikes = allowsLikes
    }
}

/// A feature that is switched off was asked for.
public struct FeatureIsOff: Error, Sendable, CustomStringConvertible {
    /// Which one.
    public var feature: String
    /// A sentence that names it.
    public var description: String { "'\(feature)' is switched off." }
}
