/// The health of a running cache in one word.
public enum HealthStatus: String, Sendable, Hashable, Codable, CaseIterable {
    /// The cache is fully functional.
    case ok
    /// The cache serves requests, but not everything works. For example, an origin is unreachable.
    case degraded
    /// The cache is shutting down. It serves arriving requests, but should get no new traffic.
    case ending
    /// The cache must not get any requests.
    case failing

    /// The HTTP status: 200, or 503 if the cache should get no requests.
    package var httpStatus: Int {
        switch self {
        case .ok, .degraded: 200
        case .ending, .failing: 503
        }
    }
}
