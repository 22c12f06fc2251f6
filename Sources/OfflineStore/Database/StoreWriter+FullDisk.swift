import GRDBSQLite
import Logging
import Synchronization

/// A full disk: what is stored gives way to what comes, in the order that the budget has, so that
/// the store goes on with the room that it has.
extension StoreWriter {
    /// So much of what is stored goes for one transaction at most: a quarter.
    private static let share: Int64 = 4

    /// Room that a transaction needs on a disk that has none.
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

    /// Makes room for a transaction that the disk did not take: first in the log, by copying what
    /// is in it, then by evicting.
    ///
    /// Nothing is evicted where so much would have to go that more is lost than won, nor again
    /// after it was in vain, until the disk takes something.
    ///
    /// - Parameter attempts: how often room was made for it before.
    /// - Returns: whether the transaction is worth another try.
    func makeRoomOnDisk(for bytes: Int, after error: any Error, _ attempts: Int, _ connection: Connection) -> Bool {
        guard StoreError(error, path: path).code == .full, memory.yieldsToFullDisk else { return false }
        if !memory.isDiskShort {
            logger.notice(
                "the disk is full; what is stored gives way to what comes",
                metadata: ["store.path": "\(path)", "error": "\(error)"]
            )
        }
        memory.isDiskShort = true
        do {
            try checkpoint(connection, truncating: false)
            let usage = try usage(connection)
            let need = Need(bytes: Int64(bytes))
            let missingLog = max(0, need.log - usage.log - (FileSystemStatus(path: path)?.free ?? 0))
            let total = need.file + missingLog
            roomByEviction.store(usage.live / Self.share, ordering: .relaxed)
            if attempts == 0, usage.free >= need.file, usage.log >= need.log { return true }
            guard attempts <= 1 else {
                stopYielding()
                return false
            }
            guard total <= usage.live / Self.share else { return false }
            try evictOnFullDisk(min(usage.live / Self.share, max(2 * total, usage.live / 32)), connection)
            try lengthenLog(to: need.log, connection)
            return true
        } catch {
            stopYielding()
            setBack(error)
            return false
        }
    }

    /// Whether room for a response can be made on a full disk.
    func canMakeRoomOnDisk(for length: Int64) -> Bool {
        let need = Need(bytes: length)
        return 2 * need.file <= roomByEviction.load(ordering: .relaxed)
    }

    /// Evicting was in vain: others take the room that it makes, or it needs more than there is.
    func stopYielding() {
        memory.yieldsToFullDisk = false
        roomByEviction.store(0, ordering: .relaxed)
    }

    /// Removes entries until so many bytes of the file are free to be used again.
    ///
    /// Each step writes to a log that is empty, on the room that it has; where that is not enough,
    /// the step is smaller.
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
            } catch  where SQLiteFailure(error)?.primaryCode == SQLITE_FULL && divisor < 1 << 12 {
                divisor *= 8
            }
            try checkpoint(connection, truncating: false)
        }
    }

    private func freeBytes(_ connection: Connection) throws -> Int64 {
        (try connection.integer("PRAGMA freelist_count") ?? 0) * StoreLimits.pageSize
    }

    /// Sees that the log has room for a transaction: by what the file system has, else by what free
    /// pages of the database give back to it.
    private func lengthenLog(to length: Int64, _ connection: Connection) throws {
        while let log = try FileStatus(path: path + "-wal")?.size, log < length {
            let free = FileSystemStatus(path: path)?.free ?? 0
            let before = try freeBytes(connection)
            if free >= length - log || before == 0 { return reserveLog(connection, length) }
            // Few at a time: pages that are moved go to the log as well.
            let pages = max(4, log / StoreLimits.pageSize / 4)
            try connection.prepare("PRAGMA incremental_vacuum(\(pages))").run()
            try checkpoint(connection, truncating: false)
            if try freeBytes(connection) >= before { return }
        }
    }

    /// Ends the thrift when the file system has room again.
    func noteWhetherDiskIsShort(_ usage: Usage) {
        guard memory.isDiskShort, let free = FileSystemStatus(path: path)?.free else { return }
        if free >= max(4 << 20, usage.live / 4) { memory.isDiskShort = false }
    }
}
