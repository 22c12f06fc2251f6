/// How much of the network a cache may use. It bounds the preference of a single request;
/// ``offline`` beats everything.
public enum OfflineMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// RFC 9111; stored responses are used as it allows.
    case online
    /// As ``online``, and while an origin is unreachable, stored responses are served for it. The
    /// default.
    case automatic
    /// Any stored response is served at once, whatever its age; the network only fills misses.
    case preferStored
    /// No socket is ever opened.
    case offline
}
