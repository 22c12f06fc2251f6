/// How much of the network a cache may use. The mode restricts the preference of individual
/// requests; ``offline`` overrides everything.
public enum OfflineMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// Stored responses are used as RFC 9111 allows.
    case online
    /// The default. Like ``online``, but while an origin is unreachable, its stored responses are
    /// served without another attempt to reach it, unless something forbids using them without
    /// validation.
    case automatic
    /// A stored response is served immediately, whatever its age. The network is used for misses,
    /// and to validate responses that must not be served stale.
    case preferStored
    /// The network is never used.
    case offline
}

extension OfflineMode {
    /// Returns the more restrictive of two modes. A rule can restrict the engine's mode but never
    /// relax it.
    package static func leastNetwork(_ mode: OfflineMode, _ other: OfflineMode?) -> OfflineMode {
        guard let other else { return mode }
        return mode.rank >= other.rank ? mode : other
    }

    private var rank: Int {
        switch self {
        case .online: 0
        case .automatic: 1
        case .preferStored: 2
        case .offline: 3
        }
    }
}
