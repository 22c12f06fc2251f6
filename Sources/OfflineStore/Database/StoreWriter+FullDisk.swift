import CSQLite
import Logging
import StoreFiles
import Synchronization

/// A full disk: entries are evicted for new ones, in the same order as for the budget, so that the
/// store continues with the space it has.
extension StoreWriter {
    /// At most a quarter of the stored bytes is evicted for one transaction.
    private static let share: Int64 = 4

    /// The space that a transaction needs on a full disk.
    struct Need {
        /// Bytes in the database's file.
        var file: Int64
        /// Bytes of the log.
        var log: Int64

        init(bytes: Int64) {
            file = bytes / 8 * 9 + 8 * StoreLimits.pageSize
            log = bytes / 4 * 5 + 32 * StoreLimits.pageSize
        }
    }

    /// Makes space for a transaction that failed on a full disk: first in the log, by a checkpoint,
    /// then by eviction.
    ///
    /// Nothing is evicted if too much would have to be evicted. After an eviction that did not
    /// help, nothing is evicted until the disk accepts a write.
    ///
    /// - Parameter attempts: how often space was already made for the transaction.
    /// - Returns: whether to retry the transaction.
    func makeRoomOnDisk(for bytes: Int, after error: any Error, _ attempts: Int, _ connection: Connection) -> Bool {
        guard StoreError(error, path: path).code == .full, memory.evictsOnFullDisk else { return false }
        if !memory.isDiskShort {
            logger.notice(
                "the disk is full; evicting stored entries to make room",
                metadata: ["store.path": "\(path)", "error": "\(error)"]
            )
        }
        memory.isDiskShort = true
        evictsForSpace.store(true, ordering: .relaxed)
        do {
            try checkpoint(connection, truncating: false)
            let need = Need(bytes: Int64(bytes))
            var usage = try usage(connection)
            // A log that grew while a reader held it would keep that space from the entries
            // permanently.
            if usage.log > need.log + database.limits.checkpoint * 5 / 4 {
                try checkpoint(connection, truncating: true, isShortened: true)
                usage = try self.usage(connection)
            }
            let missingLog = max(0, need.log - usage.log - (FileSystemStatus(path: path)?.free ?? 0))
            let total = need.file + missingLog
            roomByEviction.store(usage.live / Self.share, ordering: .relaxed)
            if attempts == 0, usage.free >= need.file, usage.log >= need.log { return true }
            guard attempts <= 1 else {
                stopEvictingOnFullDisk()
                return false
            }
            guard total <= usage.live / Self.share else { return false }
            try evictOnFullDisk(min(usage.live / Self.share, max(2 * total, usage.live / 32)), connection)
            try lengthenLog(to: need.log, connection)
            return true
        } catch {
            stopEvictingOnFullDisk()
            postponeHousekeeping(after: error)
            return false
        }
    }

    /// Whether space for a response can be made on a full disk.
    func canMakeRoomOnDisk(for length: Int64) -> Bool {
        let need = Need(bytes: length)
        return 2 * need.file <= roomByEviction.load(ordering: .relaxed)
    }

    /// Stops evicting on a full disk, because other programs use the freed space or a transaction
    /// needs more.
    func stopEvictingOnFullDisk() {
        memory.evictsOnFullDisk = false
        roomByEviction.store(0, ordering: .relaxed)
    }

    /// Removes entries until this many bytes are free inside the file.
    ///
    /// Each step writes to an empty log, within its existing space. If that is not enough, the
    /// steps become smaller.
    private func evictOnFullDisk(_ bytes: Int64, _ connection: Connection) throws {
        let target = try freeBytes(connection) + bytes
        var divisor: Int64 = 1
        while try freeBytes(connection) < target {
            do {
                if memory.wantsSweep {
                    try sweep(connection, divisor: divisor)
                } else if try !removePending(connection), try !evict(max(1, bytes / divisor), connection) {
                    return
                }
            } catch  where (error as? SQLiteFailure)?.primaryCode == SQLITE_FULL && divisor < 1 << 12 {
                divisor *= 8
            }
            try checkpoint(connection, truncating: false)
        }
    }

    private func freeBytes(_ connection: Connection) throws -> Int64 {
        (try connection.integer("PRAGMA freelist_count") ?? 0) * StoreLimits.pageSize
    }

    /// Extends the log to the length that a transaction needs, using the file system's free space
    /// or pages that the database returns.
    private func lengthenLog(to length: Int64, _ connection: Connection) throws {
        while let log = try FileStatus(path: path + "-wal")?.size, log < length {
            let free = FileSystemStatus(path: path)?.free ?? 0
            let before = try freeBytes(connection)
            if free >= length - log || before == 0 { return reserveLog(connection, length) }
            // In small steps, because moved pages go to the log too.
            let pages = max(4, log / StoreLimits.pageSize / 4)
            try connection.prepare("PRAGMA incremental_vacuum(\(pages))").run()
            try checkpoint(connection, truncating: false)
            if try freeBytes(connection) >= before { return }
        }
    }

    /// Clears the low-disk mark once the file system has space again.
    func noteWhetherDiskIsShort(_ usage: Usage) {
        guard memory.isDiskShort, let free = FileSystemStatus(path: path)?.free else { return }
        guard free >= max(Self.ample, usage.live / 4) else { return }
        memory.isDiskShort = false
        evictsForSpace.store(false, ordering: .relaxed)
    }

    /// The free bytes with which no disk counts as full.
    private static let ample: Int64 = 4 << 20

    /// Whether entries are evicted because the disk is full. Housekeeping notices late that it has
    /// space again.
    var isEvictingForSpace: Bool {
        evictsForSpace.load(ordering: .relaxed) && (FileSystemStatus(path: path)?.free ?? 0) < Self.ample
    }
}
