/// What a success of an endpoint makes out of date: what is stored of it is stale from then on, and
/// still there for offline reads.
public enum StoreInvalidation: Sendable {
    /// What is stored for another endpoint's target, whosever it is.
    case endpoint(any Endpoint)
    /// What is stored under a tag.
    case tag(String)
    /// What is stored for URLs that begin so, up to a segment of the path:
    /// `https://a.example/moments`.
    case prefix(String)
}
