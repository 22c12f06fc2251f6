public import HTTPCache

/// What a plugin is told of the call that it takes part in.
public struct CallInfo: Sendable {
    /// What a request is prepared for.
    public enum Purpose: Sendable, Hashable {
        /// To look into the store only: also whatever is asked for while the mode is `offline`.
        case lookup
        /// To be sent, where the store does not answer.
        case network
    }

    /// Counts the calls of a client, so that what belongs together can be told.
    public var number: UInt64
    /// What is asked for.
    public var endpoint: any Endpoint
    /// The client's.
    public var environment: ServerEnvironment?
    /// What is a secret: the client's, the endpoint's and the plugins'.
    public var secrets: Secrets
    /// How much of the network may be used: the client's mode, or less where a rule says so.
    public var mode: OfflineMode
    /// See ``Purpose``.
    public var purpose: Purpose
    /// 0, and one more each time the request is prepared anew because a plugin recovered it.
    public var attempt: Int
}
