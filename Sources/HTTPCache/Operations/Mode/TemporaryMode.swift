public import HTTPCacheSemantics

/// A mode that an operator set for a time. It takes the place of the configured mode until then.
public struct TemporaryMode: Sendable, Hashable, Codable {
    /// How much of the network is used.
    public var mode: OfflineMode
    /// The first instant at which the configured mode is in force again.
    public var until: Timestamp
    /// When it was set.
    public var since: Timestamp
    /// Why it was set, for other operators.
    public var reason: String?
    /// The client that set it: `uid 1000`.
    public var client: String

    /// A mode with an end.
    public init(_ mode: OfflineMode, until: Timestamp, since: Timestamp, reason: String? = nil, client: String) {
        self.mode = mode
        self.until = until
        self.since = since
        self.reason = reason
        self.client = client
    }

    /// Whether its end has come.
    public func isOver(at now: Timestamp) -> Bool { now >= until }
}

/// The mode of a running cache, and where it comes from.
public struct ModeState: Sendable, Hashable {
    /// The mode of the configuration.
    public var configured: OfflineMode
    /// The mode that takes its place for a time; `nil` if there is none.
    public var temporary: TemporaryMode?

    /// A state.
    public init(configured: OfflineMode, temporary: TemporaryMode? = nil) {
        self.configured = configured
        self.temporary = temporary
    }

    /// The mode in force.
    public var mode: OfflineMode { temporary?.mode ?? configured }
}

/// Keeps the mode that an operator set for a time. A store implements it beside `StoreOperations`.
public protocol ModeStore: Sendable {
    /// The mode that is kept, also if it is over; `nil` if there is none.
    ///
    /// - Throws: the store's error if it cannot be read.
    func temporaryMode() throws -> TemporaryMode?

    /// Keeps a mode in place of the one before, or none. It is durable when this returns.
    ///
    /// - Throws: the store's error if it cannot be written.
    func keep(_ mode: TemporaryMode?) throws
}
