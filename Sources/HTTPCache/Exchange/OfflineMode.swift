/// How much of the network a cache may use. It restricts the preference of individual requests;
/// ``offline`` overrides everything.
public enum OfflineMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// RFC 9111. Stored responses are used as it allows.
    case online
    /// Like ``online``, and while an origin is unreachable, stored responses are served for it. The
    /// default.
    case automatic
    /// A stored response is served at once, whatever its age. The network is used for misses, and
    /// to validate responses that must not be served stale.
    case preferStored
    /// The network is never used.
    case offline
}
