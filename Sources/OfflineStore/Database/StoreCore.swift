import HTTPCache
import HTTPCacheOperations
import Logging
import StoreFiles
import Synchronization

/// The core of an open store: its live database, the number of its last invalidation, its
/// counters, and the feeds of its changes.
final class StoreCore: Sendable {
    let folder: StoreFolder
    let settings: StoreDatabase.Settings
    let isReadOnly: Bool
    /// Whether no process can write the store, so this process keeps its own invalidations in
    /// memory.
    let isOnlyReader: Bool
    let live = LiveDatabase()
    let lastInvalidation: LastInvalidation
    let counters = StoreCounters()
    /// Publishes every change to the stored responses.
    let changes = StoreChangeFeed()
    /// Publishes every change to the stored objects.
    let objectChanges = ChangeFeed<ObjectChange>()
    /// Notifies the publisher of new invalidations for other nodes.
    let journalAdditions = AdditionSignal()
    /// Runs operators' pin requests one at a time, so that no two are checked against the same free
    /// space.
    let pinTurns = Limiter(permits: 1, waitingLimit: .max)
    /// The locks on folders that this process made after the store's folder was deleted, in order.
    let locks = Mutex<[FolderLock]>([])
    /// Another folder that replaced the store's, and that the log has reported; `nil` if there is
    /// none.
    let replacement = Mutex<FolderReplacement?>(nil)
    /// Watches another process's commits; `nil` in the process that writes.
    private let watch = Mutex<WriterWatch?>(nil)

    var logger: Logger { settings.logger }

    init(
        folder: StoreFolder,
        settings: StoreDatabase.Settings,
        sidecar: SequenceSidecar?,
        isReadOnly: Bool,
        isOnlyReader: Bool = false
    ) {
        self.folder = folder
        self.settings = settings
        self.lastInvalidation = LastInvalidation(sidecar: sidecar)
        self.isReadOnly = isReadOnly
        self.isOnlyReader = isOnlyReader
    }

    /// Whether the store is only read because its disk was full. A reader has the lock only then.
    var isOpenedOnFullDisk: Bool { isOnlyReader && settings.lock != nil }

    var readOnlyError: StoreError {
        let reason =
            isOpenedOnFullDisk
            ? "was opened read-only, because its disk was full. Free some space, then open it again."
            : "is open read-only, and this call would change it. Open it with 'CacheManager.open'."
        return StoreError(code: .readOnly, message: "The store '\(folder.path)' \(reason)")
    }

    // MARK: The live database

    /// The database in use. In a process that only reads, this follows the writing process.
    ///
    /// - Throws: ``StoreError`` with `closed`.
    func database() throws -> StoreDatabase {
        let (database, inode) = try live.get()
        if isReadOnly, let status = try? FileStatus(path: folder.currentPath), status.inode != inode {
            return try followCurrent(inode: status.inode)
        }
        return database
    }

    /// Passes the database in use to `body`. If that database is set aside while `body` reads,
    /// calls `body` again with the new one.
    func withDatabase<Result>(_ body: (StoreDatabase) throws -> Result) throws -> Result {
        let database = try database()
        do {
            return try body(database)
        } catch {
            guard (error as? StoreError)?.code == .closed else { throw error }
            let replacement = try self.database()
            guard replacement !== database else { throw error }
            return try body(replacement)
        }
    }

    // MARK: Events

    /// Handles the events of a database's writer.
    var events: StoreWriter.Events {
        StoreWriter.Events(
            journaled: { [weak self] in self?.journalAdditions.send() },
            invalidated: { [weak self] in try self?.publish($0, isDurable: $1) },
            damaged: { [weak self] writer, error in
                // This is the damaged writer's own queue, which the exchange waits for, so it runs
                // elsewhere. Detached, because it must not end with the task that found the damage.
                Task.detached {
                    guard let self, let database = try? self.database(), database.writer === writer else { return }
                    self.setAside(database, because: error)
                }
            },
            evicted: { [weak self] count, bytes in
                guard let self else { return }
                self.counters.evictedEntries.add(count, ordering: .relaxed)
                self.counters.evictedBytes.add(bytes, ordering: .relaxed)
                self.objectChanges.publish(.any)
            }
        )
    }

    /// Publishes the number of a committed invalidation, and the change to the objects.
    private func publish(_ number: Int64, isDurable: Bool) throws {
        // Last. Each removal that a caller asks for takes a number, so watched objects may be gone.
        defer { objectChanges.publish(.any) }
        try lastInvalidation.record(number, isDurable: isDurable)
    }

    /// Publishes a change when another process commits.
    func watchWriter(every interval: Duration) {
        let (path, logger) = (folder.path, logger)
        let watch = WriterWatch(changes, objectChanges, every: interval, folder: path, logger: logger) { [weak self] in
            guard let self else { throw StoreError.closed }
            return try self.database()
        }
        self.watch.withLock { $0 = watch }
    }

    /// The watch on another process's commits, for tests.
    var writerWatch: WriterWatch? { watch.withLock { $0 } }

    // MARK: Closing

    /// Runs waiting operations, makes a checkpoint, and releases the folder.
    ///
    /// A second call does nothing.
    func close() throws {
        // However closing ends, the store no longer changes.
        defer {
            changes.finish()
            objectChanges.finish()
        }
        watch.withLock { $0 }?.close()
        try live.exchange.withLock { _ in
            guard let database = live.close() else { return }
            database.writer?.refuse(.closed)
            if isOnlyReader { database.state.unwritten.reportLoss(at: database.path, to: logger) }
            defer {
                for lock in [settings.lock].compactMap(\.self) + locks.withLock({ $0 }) { lock.release() }
                replacement.withLock { replacement in
                    replacement?.release()
                    replacement = nil
                }
            }
            do {
                try database.close(checkpointing: true)
            } catch {
                throw StoreError(error, path: database.path)
            }
        }
    }
}
