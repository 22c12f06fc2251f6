/// Stored responses that an endpoint's successful request invalidates. They become stale, and stay
/// available for offline reads if no directive forbids stale use.
public enum StoreInvalidation: Sendable {
    /// The responses of another endpoint's target, for every principal.
    case endpoint(any Endpoint)
    /// The responses stored under a tag.
    case tag(String)
    /// The responses whose URL begins with this text, an absolute URI such as
    /// `https://a.example/moments/`. Only bytes are compared, as in `TargetPrefix`: without the
    /// last `/`, it also covers `/moments-archive`. If the text is not a valid prefix, nothing is
    /// invalidated, and a warning is logged.
    case prefix(String)
}
