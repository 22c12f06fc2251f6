public import HTTPCache

/// Facts about a call, for the plugins that take part in it.
public struct CallInfo: Sendable {
    /// The purpose of preparing a request.
    public enum Purpose: Sendable, Hashable {
        /// The request only reads the store. This is also the purpose of every request in `offline`
        /// mode.
        case lookup
        /// The request is sent, unless the store serves it.
        case network
    }

    /// The call's number within its client, which links the events of one call.
    public var number: UInt64
    /// The endpoint of the call.
    public var endpoint: any Endpoint
    /// The client's environment.
    public var environment: ServerEnvironment?
    /// The secrets of the client, the endpoint and the plugins.
    public var secrets: Secrets
    /// The extent to which the network may be used: the client's mode, or a more restrictive mode
    /// if a rule sets one.
    public var mode: OfflineMode
    /// The purpose of preparing the request.
    public var purpose: Purpose
    /// The number of times that the request was prepared again because a plugin recovered it,
    /// starting at 0.
    public var attempt: Int
}
