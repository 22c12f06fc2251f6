/// Features that can be switched on and off without a new version of the program. Toggles are
/// passed as parameters; there are no global ones.
public struct FeatureToggles: Sendable, Hashable {
    /// Whether requests use GraphQL instead of REST.
    public var usesGraphQL: Bool
    /// Whether users can like moments.
    public var allowsLikes: Bool

    /// Creates toggles; by default, requests use REST and likes are allowed.
    public init(usesGraphQL: Bool = false, allowsLikes: Bool = true) {
        self.usesGraphQL = usesGraphQL
        self.allowsLikes = allowsLikes
    }
}

/// The error for a call to a feature that is switched off.
public struct FeatureIsOff: Error, Sendable, CustomStringConvertible {
    /// The name of the feature.
    public var feature: String
    /// A sentence that names the feature.
    public var description: String { "'\(feature)' is switched off." }
}
