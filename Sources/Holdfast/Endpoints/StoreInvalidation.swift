/// Stored responses that an endpoint's successful request invalidates. They become stale, and stay
/// available for offline reads if no directive forbids stale use.
public enum StoreInvalidation: Sendable {
    /// The responses of another endpoint's target, for every principal.
    case endpoint(any Endpoint)
    /// The responses stored under a tag.
    case tag(String)
    /// The responses whose URL has this prefix, such as `https://a.example/moments`. A prefix ends
    /// at the end of a path segment.
    case prefix(String)
}
