/// A health check that clients can request.
public enum HealthCheck: Sendable, Hashable {
    /// All checks, for people and for load balancers with one path.
    case all
    /// Whether the process works. If not, restart it.
    case live
    /// Whether the gateway should get requests. If not, send them elsewhere.
    case ready
}
