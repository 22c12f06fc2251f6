/// How much of the network a cache may use. It bounds what a single request asks for; ``offline``
/// beats everything.
public enum OfflineMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// RFC 9111; stored responses are used as it allows.
    case online
    /// As ``online``, and while an origin cannot be reached, what is stored answers for it. The
    /// default.
    case automatic
    /// Any stored response is served at once, whatever its age; the network only fills misses.
    case preferStored
    /// No socket is ever opened.
    case offline
}
