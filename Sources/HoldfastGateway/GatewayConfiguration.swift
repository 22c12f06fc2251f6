import HTTPCache

/// What a gateway is told at its start.
public struct GatewayConfiguration: Sendable {
    /// Makes the defaults.
    public init() {}
}
