/// The stored responses that a successful request of an endpoint invalidates. They become stale,
/// and stay available for offline reads.
public enum StoreInvalidation: Sendable {
    /// The responses of another endpoint's target, for every principal.
    case endpoint(any Endpoint)
    /// The responses stored under a tag.
    case tag(String)
    /// The responses whose URL has this prefix, which ends at a path segment:
    /// `https://a.example/moments`.
    case prefix(String)
}
