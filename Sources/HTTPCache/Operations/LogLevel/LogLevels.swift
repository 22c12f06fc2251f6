public import HTTPCacheSemantics
public import Logging
import Synchronization

/// The log level of a running program: its own, or another one that an operator set for a time.
///
/// The handler of the program's loggers reads ``level`` for each message, so a change applies to
/// the next one. The program's own level is in force again after the end, without a timer, and
/// after a restart.
public final class LogLevels: Sendable {
    /// A level that an operator set for a time.
    public struct Temporary: Sendable, Hashable {
        /// The least level that is logged.
        public var level: Logger.Level
        /// The first instant at which the program's own level is in force again.
        public var until: Timestamp
        /// When it was set.
        public var since: Timestamp
        /// Why it was set, for other operators.
        public var reason: String?
        /// The client that set it: `uid 1000`.
        public var client: String

        /// A level with an end.
        public init(
            _ level: Logger.Level,
            until: Timestamp,
            since: Timestamp,
            reason: String? = nil,
            client: String
        ) {
            self.level = level
            self.until = until
            self.since = since
            self.reason = reason
            self.client = client
        }
    }

    /// The program's own level.
    public let own: Logger.Level
    private let clock: any WallClock
    private let current = Mutex<Temporary?>(nil)
    /// Whether ``current`` holds a level: without one, no message needs the lock and the clock.
    private let isSet = Atomic(false)

    /// The program's own level is in force.
    public init(_ own: Logger.Level, clock: any WallClock = SystemWallClock()) {
        self.own = own
        self.clock = clock
    }

    /// The level in force.
    public var level: Logger.Level { isSet.load(ordering: .acquiring) ? temporary?.level ?? own : own }

    /// The level that is set for a time; `nil` if there is none, or if its end has come.
    public var temporary: Temporary? {
        current.withLock { current in
            guard let temporary = current else { return nil }
            if clock.now() < temporary.until { return temporary }
            current = nil
            isSet.store(false, ordering: .releasing)
            return nil
        }
    }

    /// Sets a level for a time, or puts the program's own into force again.
    public func set(_ temporary: Temporary?) {
        current.withLock { current in
            current = temporary
            isSet.store(temporary != nil, ordering: .releasing)
        }
    }
}
