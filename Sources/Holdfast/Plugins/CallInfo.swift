public import HTTPCache
import Synchronization

/// Facts about a call, for the plugins that are involved in it.
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
    /// How much of the network may be used: the client's mode, or a more restrictive mode if a rule
    /// sets one.
    public var mode: OfflineMode
    /// The purpose of preparing the request.
    public var purpose: Purpose
    /// The number of times that the request has been prepared again because a plugin recovered it.
    /// It starts at 0.
    public var attempt: Int
    /// The sequence number of this preparation among all preparations that involve plugins; see
    /// ``lastPreparation``.
    var preparation: UInt64 = 0

    private static let preparations = Atomic<UInt64>(0)

    /// The latest ``preparation`` in this process. When a plugin forgets a user, it must also
    /// ignore the responses to requests that were prepared earlier.
    static var lastPreparation: UInt64 { preparations.load(ordering: .relaxed) }

    /// Returns the next ``preparation``.
    static func nextPreparation() -> UInt64 { preparations.add(1, ordering: .relaxed).newValue }
}
