public import HTTPCacheSemantics
public import Logging
import Synchronization

/// The log level of a running program: its own level, or a level that an operator set temporarily.
///
/// The handler of the program's loggers reads ``level`` for each message, so a change applies to
/// the next message. The program's own level is restored when the temporary level expires, without
/// a timer, and after a restart.
public final class LogLevels: Sendable {
    /// A level that an operator set temporarily.
    public struct Temporary: Sendable, Hashable {
        /// The lowest level that is logged.
        public var level: Logger.Level
        /// The first instant at which the program's own level applies again.
        public var until: Timestamp
        /// When the level was set.
        public var since: Timestamp
        /// The reason that the level was set, for other operators.
        public var reason: String?
        /// The client that set the level, such as `uid 1000`.
        public var client: String

        /// Creates a temporary level.
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
    /// Whether ``current`` holds a level. If it does not, reading the level needs neither the lock
    /// nor the clock.
    private let isSet = Atomic(false)

    /// Creates the levels. At first, the program's own level applies.
    public init(_ own: Logger.Level, clock: any WallClock = SystemWallClock()) {
        self.own = own
        self.clock = clock
    }

    /// The level in force.
    public var level: Logger.Level { isSet.load(ordering: .acquiring) ? temporary?.level ?? own : own }

    /// The temporary level; `nil` if there is none or it has expired.
    public var temporary: Temporary? {
        current.withLock { current in
            guard let temporary = current else { return nil }
            if clock.now() < temporary.until { return temporary }
            current = nil
            isSet.store(false, ordering: .releasing)
            return nil
        }
    }

    /// Sets a temporary level, or restores the program's own level.
    public func set(_ temporary: Temporary?) {
        current.withLock { current in
            current = temporary
            isSet.store(temporary != nil, ordering: .releasing)
        }
    }
}
