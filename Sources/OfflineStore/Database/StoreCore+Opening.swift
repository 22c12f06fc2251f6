import HTTPCacheSemantics
import LibC
import Logging
import StoreFiles
import Synchronization

extension StoreCore {
    /// Opens the database that `CURRENT` names, or creates one.
    ///
    /// - Parameter number: `nil` if there is none yet.
    func openCurrent(_ number: Int?, now: Timestamp) throws {
        if isReadOnly {
            guard let number else { return }
            let inode = try FileStatus(path: folder.currentPath)?.inode
            let (database, last) = try StoreDatabase.openForReading(
                number: number,
                path: folder.databasePath(number),
                folder: folder.path,
                settings: settings
            )
            if isOnlyReader { try distrustIfBehind(database, last: last) }
            install(database, sequence: last, inode: inode)
            return
        }
        let known = try lastInvalidation.sidecar?.read()
        guard let number else {
            return try startNew(secrets: .random(), sequence: known ?? 0, now: now)
        }
        do {
            guard case .ours = try DatabaseHeader(path: folder.databasePath(number)) else {
                throw SQLiteFailure(code: 26, message: "the file is missing or is not a database")
            }
            try openForWriting(number, known: known, now: now)
        } catch {
            guard (error as? SQLiteFailure)?.isDamage == true else { throw error }
            logSetAside(number, error)
            // If neither a database nor a sidecar has the number, the clock's milliseconds are
            // above every former number.
            try startNew(secrets: .random(), sequence: known ?? max(1, now.milliseconds), now: now)
            counters.lostDatabases.add(1, ordering: .relaxed)
        }
    }

    /// Distrusts all entries if the sidecar has a higher invalidation number than the database. It
    /// does so in memory, because nothing can be written.
    private func distrustIfBehind(_ database: StoreDatabase, last: Int64) throws {
        let known = try SequenceSidecar.read(path: folder.sidecarPath)
        if let known, known <= last { return }
        database.state.responseLowWaterMark.max(.max, ordering: .releasing)
        database.state.objectLowWaterMark.max(.max, ordering: .releasing)
        settings.warnOfLostInvalidations(known.map { $0 &- last }, database.path)
    }

    /// Creates a database under the next number, then makes `CURRENT` name it.
    ///
    /// - Parameter last: the number of a database that may no longer be in the folder.
    func startNew(secrets: StoreSecrets, sequence: Int64, above last: Int = 0, now: Timestamp) throws {
        let number = max(try folder.databases().last ?? 0, last) + 1
        let path = folder.databasePath(number)
        // Each database has its own range of numbers, so that a number from one never matches an
        // entry in another.
        let firstID = Int64(number % 2048) << 36 + 1
        do {
            try DatabaseOpening.create(
                path: path,
                limits: settings.limits,
                secrets: secrets,
                firstID: firstID,
                sequence: sequence
            )
            try synchronizeFolder(folder.path)
            try lastInvalidation.sidecar?.write(sequence)
            try folder.setCurrent(number)
        } catch {
            // Nothing refers to the file, so removing it loses nothing. Otherwise each attempt
            // would leave another file.
            if (try? folder.content()) != .store(number: number) {
                for ending in ["", "-wal", "-shm", "-journal"] { unlink(path + ending) }
            }
            throw error
        }
        try openForWriting(number, known: sequence, now: now)
    }

    /// - Parameter known: the number in the sidecar; `nil` if it has none.
    private func openForWriting(_ number: Int, known: Int64?, now: Timestamp) throws {
        let (database, last) = try StoreDatabase.openForWriting(
            number: number,
            path: folder.databasePath(number),
            settings: settings,
            known: known,
            now: now,
            events: events
        )
        if last != known { try lastInvalidation.sidecar?.write(last) }
        database.writer?.noteFullDiskAtOpening()
        install(database, sequence: last, inode: nil)
    }

    func install(_ database: StoreDatabase, sequence number: Int64, inode: UInt64?) {
        lastInvalidation.raise(to: number)
        live.set(database, currentInode: inode)
        database.writer?.requestSweep()
    }
}
