/// The health of a running cache in one word.
public enum HealthStatus: String, Sendable, Hashable, Codable, CaseIterable {
    /// It serves with all of its means.
    case ok
    /// It serves, with less than all of its means: an origin is unreachable, for example.
    case degraded
    /// It was asked to end. It serves what comes, and should get nothing new.
    case ending
    /// It must get no requests.
    case failing

    /// 200, or 503 if it should get no requests.
    public var httpStatus: Int {
        switch self {
        case .ok, .degraded: 200
        case .ending, .failing: 503
        }
    }
}
