import HTTPCache
import HTTPCacheSemantics
import Logging
import StoreFiles
import Synchronization

extension StoreCore {
    /// Closes a damaged database, leaves its file, and continues with a new one.
    ///
    /// If the new one cannot be created (because of a full disk, for example), the damaged one
    /// stays in use, and its next failure triggers another attempt.
    func setAside(_ damaged: StoreDatabase, because error: any Error) {
        guard !isReadOnly else { return }
        let isReplaced = live.exchange.withLock { _ in
            guard live.isLive(damaged) else { return false }
            logSetAside(damaged.number, error)
            do {
                // The damaged database may still partly work. If it accepted an invalidation in the
                // meantime, the new one would not know that number and would reuse it.
                let reason = SQLiteFailure(code: 11, message: "set aside").storeError(path: damaged.path)
                try damaged.writer?.refuseAfter(reason) {
                    let now = Timestamp(milliseconds: damaged.state.latestInstant)
                    let known = try? lastInvalidation.sidecar?.read()
                    // Its journal may have had entries; the new one has them from joining.
                    journalAdditions.send()
                    try startNew(
                        secrets: damaged.state.secrets,
                        sequence: max(known ?? 0, lastInvalidation.number),
                        now: now
                    )
                }
                return true
            } catch {
                logger.warning(
                    "cannot create a new database",
                    metadata: ["store.path": "\(folder.path)", "error": "\(StoreError(error, path: folder.path))"]
                )
                return false
            }
        }
        guard isReplaced else { return }
        counters.lostDatabases.add(1, ordering: .relaxed)
        try? damaged.close(checkpointing: false)
        changes.publish(StoreChange(.invalidated, .all))
        objectChanges.publish(.any)
    }

    func logSetAside(_ number: Int, _ error: any Error) {
        logger.warning(
            """
            the database is damaged; leaving its file in place and creating a new database; \
            'cache-dump recover' copies what is intact
            """,
            metadata: ["store.path": "\(folder.databasePath(number))", "error": "\(error)"]
        )
    }

    /// Switches to the database that the writing process switched to.
    func followCurrent(inode: UInt64) throws -> StoreDatabase {
        try live.exchange.withLock { _ in
            let (database, known) = try live.get()
            if known == inode { return database }
            guard case .store(let number) = try folder.content() else { return database }
            if number == database.number, try FileStatus(path: database.path)?.inode == database.inode {
                live.set(database, currentInode: inode)
                return database
            }
            let (next, last) = try StoreDatabase.openForReading(
                number: number,
                path: folder.databasePath(number),
                folder: folder.path,
                settings: settings
            )
            // Readers of the old database finish their bodies. The last reader closes it.
            install(next, sequence: last, inode: inode)
            return next
        }
    }
}
