/// The stored responses that a success of an endpoint invalidates. They become stale, and stay
/// available for offline reads.
public enum StoreInvalidation: Sendable {
    /// The responses of another endpoint's target, for every principal.
    case endpoint(any Endpoint)
    /// The responses stored under a tag.
    case tag(String)
    /// The responses of URLs with this prefix, up to a segment of the path:
    /// `https://a.example/moments`.
    case prefix(String)
}
