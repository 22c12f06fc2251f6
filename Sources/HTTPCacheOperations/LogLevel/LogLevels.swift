package import HTTPCache
package import HTTPCacheSemantics
package import Logging
import Synchronization

/// The log level of a running program: its own level, or a level that an operator set temporarily.
///
/// The handler of the program's loggers reads ``level`` for each message, so a change applies to
/// the next message. The program's own level is restored when the temporary level expires, without
/// a timer, and after a restart.
package final class LogLevels: Sendable {
    /// A level that an operator set temporarily.
    package struct Temporary: Sendable, Hashable {
        /// The lowest level that is logged.
        package var level: Logger.Level
        /// The first instant at which the program's own level applies again.
        package var until: Timestamp
        /// When the level was set.
        package var since: Timestamp
        /// The reason that the level was set, for other operators.
        package var reason: String?
        /// The client that set the level, such as `uid 1000`.
        package var client: String

        /// Creates a temporary level.
        package init(
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
    package let own: Logger.Level
    private let clock: any WallClock
    private let current = Mutex<Temporary?>(nil)
    /// Whether ``current`` holds a level. If it does not, reading the level needs neither the lock
    /// nor the clock.
    private let isSet = Atomic(false)

    /// Creates the levels. At first, the program's own level applies.
    package init(_ own: Logger.Level, clock: any WallClock = SystemWallClock()) {
        self.own = own
        self.clock = clock
    }

    /// The level in force.
    package var level: Logger.Level { isSet.load(ordering: .acquiring) ? temporary?.level ?? own : own }

    /// The temporary level; `nil` if there is none or it has expired.
    package var temporary: Temporary? {
        current.withLock { current in
            guard let temporary = current else { return nil }
            if clock.now() < temporary.until { return temporary }
            current = nil
            isSet.store(false, ordering: .releasing)
            return nil
        }
    }

    /// Sets a temporary level, or restores the program's own level.
    package func set(_ temporary: Temporary?) {
        current.withLock { current in
            current = temporary
            isSet.store(temporary != nil, ordering: .releasing)
        }
    }
}
