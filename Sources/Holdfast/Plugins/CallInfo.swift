public import HTTPCache

/// Facts about a call, for the plugins that take part in it.
public struct CallInfo: Sendable {
    /// The purpose for which a request is prepared.
    public enum Purpose: Sendable, Hashable {
        /// To read the store only. Also for every request while the mode is `offline`.
        case lookup
        /// To be sent, unless the store serves it.
        case network
    }

    /// The number of the call within its client. It relates the events of one call.
    public var number: UInt64
    /// The endpoint of the call.
    public var endpoint: any Endpoint
    /// The client's environment.
    public var environment: ServerEnvironment?
    /// The secrets of the client, the endpoint and the plugins.
    public var secrets: Secrets
    /// How much of the network may be used: the client's mode, or less if a rule limits it.
    public var mode: OfflineMode
    /// See ``Purpose``.
    public var purpose: Purpose
    /// 0, plus one each time the request is prepared anew because a plugin recovered it.
    public var attempt: Int
}
