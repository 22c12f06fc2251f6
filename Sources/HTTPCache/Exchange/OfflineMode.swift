/// How much of the network a cache may use. It restricts the preference of individual requests;
/// ``offline`` overrides everything.
public enum OfflineMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// RFC 9111. Stored responses are used as it allows.
    case online
    /// Like ``online``, and while an origin is unreachable, stored responses are served for it. The
    /// default.
    case automatic
    /// Any stored response is served immediately, whatever its age; the network is used only for
    /// misses.
    case preferStored
    /// The network is never used.
    case offline
}
