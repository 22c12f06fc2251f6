import Dispatch
import HTTPCache
import HTTPCacheSemantics
import Logging
import Synchronization

/// Tells watchers in a process that only reads that the writing process has committed.
///
/// SQLite counts commits per connection (`PRAGMA data_version`). A separate connection polls that
/// number at an interval while there are watchers. It keeps no snapshot, so it does not hold the
/// writer's log. It does not find out what changed; watchers only learn that anything may have
/// changed.
final class WriterWatch: Sendable {
    /// `@unchecked Sendable`: it is only used while `state` is locked.
    private final class Probe: @unchecked Sendable {
        let database: StoreDatabase
        private let connection: Connection

        init(_ database: StoreDatabase, folder: String) throws {
            self.database = database
            let sharing = try StoreDatabase.sharing(path: database.path, folder: folder)
            connection = try DatabaseOpening.reader(path: database.path, sharing, cache: 64 << 10)
        }

        func read() throws -> Sighting {
            let version = try connection.integer("PRAGMA data_version") ?? 0
            let sequence = try connection.integer("SELECT sequence FROM store WHERE id = 1") ?? 0
            return Sighting(version: version, sequence: sequence)
        }
    }

    /// The result of one poll of the database.
    private struct Sighting: Equatable {
        /// Changes with each commit of another connection.
        var version: Int64
        /// The number of the last invalidation.
        var sequence: Int64
    }

    private struct State {
        var timer: (any DispatchSourceTimer)?
        var probe: Probe?
        var last: Sighting?
        var isClosed = false
    }

    private let changes: StoreChangeFeed
    private let objectChanges: ChangeFeed<ObjectChange>
    private let interval: Duration
    private let live: @Sendable () throws -> StoreDatabase
    private let folder: String
    private let logger: Logger
    private let queue = DispatchQueue(label: "holdfast.store.watch", qos: .utility)
    private let state = Mutex(State())

    /// - Parameters:
    ///   - interval: the time between two polls.
    ///   - live: returns the database that `CURRENT` names now.
    init(
        _ changes: StoreChangeFeed,
        _ objectChanges: ChangeFeed<ObjectChange>,
        every interval: Duration,
        folder: String,
        logger: Logger,
        live: @escaping @Sendable () throws -> StoreDatabase
    ) {
        self.changes = changes
        self.objectChanges = objectChanges
        self.interval = interval
        self.folder = folder
        self.logger = logger
        self.live = live
        changes.whenWatched { [weak self] in self?.begin() }
        objectChanges.whenWatched { [weak self] in self?.begin() }
    }

    deinit { close() }

    /// Starts polling with an immediate first poll, so that later commits are published.
    private func begin() {
        state.withLock { state in
            guard state.timer == nil, !state.isClosed else { return }
            poll(&state)
            let timer = DispatchSource.makeTimerSource(queue: queue)
            let pause = DispatchTimeInterval.milliseconds(Int(max(10, min(3_600_000, interval.clampedMilliseconds))))
            timer.schedule(deadline: .now() + pause, repeating: pause, leeway: .milliseconds(10))
            timer.setEventHandler { [weak self] in self?.tick() }
            timer.resume()
            state.timer = timer
        }
    }

    private func tick() {
        let change = state.withLock { state -> StoreChange.Kind? in
            guard changes.isWatched || objectChanges.isWatched, !state.isClosed else {
                Self.end(&state)
                return nil
            }
            return poll(&state)
        }
        guard let change else { return }
        changes.publish(StoreChange(change, .all))
        objectChanges.publish(.any)
    }

    /// Returns the change since the last poll; `nil` if there is none.
    @discardableResult
    private func poll(_ state: inout State) -> StoreChange.Kind? {
        do {
            let database = try live()
            let isOther = state.probe.map { $0.database !== database } ?? true
            if isOther { state.probe = try Probe(database, folder: folder) }
            guard let sighting = try state.probe?.read() else { return nil }
            let last = state.last
            state.last = sighting
            guard let last else { return .stored }
            if isOther || sighting.sequence != last.sequence { return .invalidated }
            return sighting.version == last.version ? nil : .stored
        } catch {
            // The database is being replaced, or the disk failed for a moment. The next poll will
            // succeed.
            state.probe = nil
            logger.debug(
                "cannot read the writer's changes",
                metadata: ["store.path": "\(folder)", "error": "\(error)"]
            )
            return nil
        }
    }

    private static func end(_ state: inout State) {
        state.timer?.cancel()
        state.timer = nil
        state.probe = nil
        state.last = nil
    }

    /// Stops polling.
    func close() {
        state.withLock { state in
            state.isClosed = true
            Self.end(&state)
        }
    }

    /// Whether it is polling, for tests.
    var isLooking: Bool { state.withLock { $0.timer != nil } }
}
