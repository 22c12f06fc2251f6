/// Features that can be switched without a new version of the program. They are passed in, never
/// looked up.
public struct FeatureToggles: Sendable, Hashable {
    /// Requests are sent as GraphQL instead of REST.
    public var usesGraphQL: Bool
    /// Users can like moments.
    public var allowsLikes: Bool

    /// REST and likes by default.
    public init(usesGraphQL: Bool = false, allowsLikes: Bool = true) {
        self.usesGraphQL = usesGraphQL
        self.allowsLikes = allowsLikes
    }
}

/// A caller used a feature that is switched off.
public struct FeatureIsOff: Error, Sendable, CustomStringConvertible {
    /// The name of the feature.
    public var feature: String
    /// A sentence that names the feature.
    public var description: String { "'\(feature)' is switched off." }
}
