import HTTPCacheSemantics
import HoldfastMigrations
import LibC
import Logging
package import StoreFiles

/// Opens a store at a path. Everything that could be wrong with the path is checked before anything
/// is written.
package enum StoreOpening {
    /// Opens a store for writing. A store on a read-only file system or on a full disk is opened
    /// only for reading, so that its responses can be served.
    static func open(
        at path: String,
        configuration: CacheManager.Configuration,
        now: Timestamp,
        logger: Logger
    ) throws -> StoreCore {
        do {
            return try openForWriting(at: path, configuration: configuration, now: now, logger: logger)
        } catch let error as StoreError {
            guard let reason = reasonToRead(error, path), case .store? = try? StoreFolder(path: path).content() else {
                throw error
            }
            let store = try openForReading(
                at: path,
                configuration: configuration,
                now: now,
                logger: logger,
                asOnlyOne: true,
                locking: reason == .fullDisk
            )
            logger.warning(reason.message, metadata: ["store.path": "\(path)", "error": "\(error)"])
            return store
        }
    }

    /// The reason that a store is opened only for reading although it was to be opened for writing.
    private enum ReasonToRead {
        case readOnlyFileSystem, fullDisk

        var message: Logger.Message {
            switch self {
            case .readOnlyFileSystem:
                "the store's file system is read-only; serving stored responses without storing or freshening any"
            case .fullDisk:
                """
                the store's disk is full; serving stored responses without storing or freshening any; \
                free some space, then restart
                """
            }
        }
    }

    private static func reasonToRead(_ error: StoreError, _ path: String) -> ReasonToRead? {
        guard let status = FileSystemStatus(path: path) else { return nil }
        if error.code == .unwritable, status.isReadOnly { return .readOnlyFileSystem }
        let isShort = status.free < StoreLimits.fullDiskBytes
        let isFull = error.code == .full || [.io, .unwritable].contains(error.code) && isShort
        return isFull ? .fullDisk : nil
    }

    static func openForWriting(
        at path: String,
        configuration: CacheManager.Configuration,
        now: Timestamp,
        logger: Logger,
        fileSystem: (String) -> LockBreakingFileSystem? = LockBreakingFileSystem.probe
    ) throws -> StoreCore {
        let limits = try StoreLimits(configuration)
        try checkPath(path)
        let folder = StoreFolder(path: path)
        return try translatingErrors(folder) {
            let before = try examine(folder)
            if before == .absent { try makeFolder(folder.path) }
            if before != .absent { try restrict(folder, logger) }
            warn(of: fileSystem(folder.path), folder, logger)
            let lock = try FolderLock(path: folder.lockPath, folder: folder.path)
            do {
                // Another process may have changed the folder between the first check and the lock.
                let content = try examine(folder)
                let sidecar = try SequenceSidecar(path: folder.sidecarPath)
                let settings = StoreDatabase.Settings(
                    limits: limits,
                    keyHash: configuration.keyHash,
                    logger: logger,
                    telemetry: configuration.telemetry,
                    lock: lock
                )
                let core = StoreCore(folder: folder, settings: settings, sidecar: sidecar, isReadOnly: false)
                switch content {
                case .store(let number):
                    try core.openCurrent(number, now: now)
                case .unnamed(let all):
                    let databases = try all.filter { try !removeUnfinished(folder.databasePath($0)) }
                    if let last = try databases.last(where: { try isOurs(folder.databasePath($0)) }) {
                        try folder.setCurrent(last)
                        try core.openCurrent(last, now: now)
                    } else {
                        try core.openCurrent(nil, now: now)
                    }
                case .absent, .empty, .other:
                    try core.openCurrent(nil, now: now)
                }
                return core
            } catch {
                lock.release()
                throw error
            }
        }
    }

    /// - Parameters:
    ///   - asOnlyOne: whether no other process can write to the store, so that this process keeps
    ///     its own invalidations.
    ///   - locking: whether this process locks the folder, so that no other process can write.
    static func openForReading(
        at path: String,
        configuration: CacheManager.Configuration,
        now: Timestamp,
        logger: Logger,
        asOnlyOne: Bool = false,
        locking: Bool = false,
        fileSystem: (String) -> LockBreakingFileSystem? = LockBreakingFileSystem.probe
    ) throws -> StoreCore {
        let limits = try StoreLimits(configuration)
        try checkPath(path)
        let folder = StoreFolder(path: path)
        return try translatingErrors(folder) {
            let content = try examine(folder, isReadOnly: true)
            guard case .store(let number) = content else { throw noStore(folder, content) }
            guard try isOurs(folder.databasePath(number)) else {
                let isMissing = access(folder.databasePath(number), F_OK) != 0 && errno == ENOENT
                let fault =
                    isMissing
                    ? "does not exist, although 'CURRENT' names it. To use another database of the folder, write its name to 'CURRENT'. "
                    : "is damaged. "
                throw StoreError(
                    code: .damaged,
                    message: "The database '\(folder.databasePath(number))' \(fault)"
                        + "First copy what can be read with 'cache-dump recover STORE NEW'. Then open the store for writing, "
                        + "for example with 'holdfast serve': it sets the database aside and starts a new one."
                )
            }
            warn(of: fileSystem(folder.path), folder, logger)
            let settings = StoreDatabase.Settings(
                limits: limits,
                keyHash: configuration.keyHash,
                logger: logger,
                telemetry: configuration.telemetry,
                lock: locking ? try FolderLock(path: folder.lockPath, folder: folder.path) : nil
            )
            let core = StoreCore(
                folder: folder,
                settings: settings,
                sidecar: nil,
                isReadOnly: true,
                isOnlyReader: asOnlyOne
            )
            try core.openCurrent(number, now: now)
            if !asOnlyOne { core.watchWriter(every: configuration.changeInterval) }
            return core
        }
    }

    /// Logs a warning if the file system breaks locks. Call this before taking a lock: if locking
    /// then fails, the warning explains why.
    private static func warn(of fileSystem: LockBreakingFileSystem?, _ folder: StoreFolder, _ logger: Logger) {
        guard let fileSystem else { return }
        logger.warning(
            """
            the store is on a file system that is known to break locks: two processes may write to it at the same time and damage it, \
            and readers may see torn data; move it to a local disk
            """,
            metadata: ["store.path": "\(folder.path)", "store.filesystem": "\(fileSystem.rawValue)"]
        )
    }

    /// Rejects an empty path (from an unset variable, for example) and a path with a NUL byte.
    package static func checkPath(_ path: String) throws {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw StoreError(
                code: .invalidConfiguration,
                message: "'\(path)' is not a folder path. Name the store's folder. Nothing was changed."
            )
        }
    }

    /// Checks the folder without changing it.
    ///
    /// - Parameter isReadOnly: whether an empty or new folder is of no use.
    /// - Throws: ``StoreError`` with `notAStore`, `foreignDatabase`, `newerSchema` or `unwritable`.
    static func examine(_ folder: StoreFolder, isReadOnly: Bool = false) throws -> StoreFolder.Content {
        let content = try folder.content()
        switch content {
        case .other(let what):
            throw lostCurrent(folder) ?? notAStore(folder, what + hint(of: folder), isReadOnly: isReadOnly)
        case .store(let number): try check(folder.databasePath(number))
        case .unnamed(let databases):
            for number in databases { try checkUnnamed(folder.databasePath(number), in: folder) }
        case .absent, .empty: break
        }
        return content
    }

    private static func check(_ path: String) throws {
        switch try DatabaseHeader(path: path) {
        case .foreign:
            // SQLite writes the header last, so this may be a Holdfast database whose creation was
            // interrupted before that.
            if try FileStatus(path: path + "-journal")?.size ?? 0 > 0 { return }
            throw StoreError(
                code: .foreignDatabase,
                message:
                    "The database '\(path)' belongs to another program. Choose another folder. Nothing was changed."
            )
        case .ours(let version): try DatabaseHeader.checkVersion(version, path: path)
        case .unreadable, .missing: break
        }
    }

    /// Checks a database that `CURRENT` does not name. Either its creation was interrupted, or it
    /// does not belong to Holdfast.
    private static func checkUnnamed(_ path: String, in folder: StoreFolder) throws {
        try check(path)
        guard try DatabaseHeader(path: path) == .unreadable, try FileStatus(path: path)?.size ?? 0 > 0,
            try FileStatus(path: path + "-journal")?.size ?? 0 == 0
        else { return }
        throw notAStore(folder, "'\(path)' is not a database, and no file 'CURRENT' names it")
    }

    /// Removes a database if its creation was interrupted, so that nothing was ever stored in it.
    /// The database is then empty, or has a rollback journal that would empty it.
    ///
    /// - Returns: whether the database was removed.
    private static func removeUnfinished(_ path: String) throws -> Bool {
        let hasLog = try FileStatus(path: path + "-wal")?.size ?? 0 > 0
        let isEmpty = try FileStatus(path: path)?.size == 0
        guard !hasLog, try isEmpty || journalBeginsWithNothing(path + "-journal") else { return false }
        // The journal is removed last. Without it, the other files could be mistaken for a complete
        // database.
        for ending in ["-wal", "-shm", "", "-journal"] {
            guard unlink(path + ending) == 0 || errno == ENOENT else { throw SystemFailure("remove", path + ending) }
        }
        return true
    }

    /// Returns whether a rollback journal's transaction began with an empty database.
    ///
    /// The journal's header contains 8 magic bytes, the number of the journal's pages, a nonce, and
    /// the number of the database's pages before the transaction.
    private static func journalBeginsWithNothing(_ path: String) throws -> Bool {
        guard try FileStatus(path: path) != nil else { return false }
        let header = try FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW).read(count: 20, at: 0)
        guard header.count == 20 else { return false }
        return header.starts(with: [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]) && header[16...] == [0, 0, 0, 0]
    }

    static func isOurs(_ path: String) throws -> Bool {
        if case .ours = try DatabaseHeader(path: path) { true } else { false }
    }

    /// The error for reading a folder without a store.
    static func noStore(_ folder: StoreFolder, _ content: StoreFolder.Content) -> StoreError {
        if let error = lostCurrent(folder) { return error }
        let what = content == .absent ? "it does not exist" : "it contains no store yet"
        return notAStore(folder, what, isReadOnly: true)
    }

    /// Returns the error for a folder that lost its file `CURRENT`; `nil` if it has the file, or no
    /// database that the file could name.
    private static func lostCurrent(_ folder: StoreFolder) -> StoreError? {
        guard (try? FileStatus(path: folder.currentPath)) == nil, let databases = try? folder.databases(),
            let last = databases.last(where: { (try? isOurs(folder.databasePath($0))) == true })
        else { return nil }
        return StoreError(
            code: .notAStore,
            message:
                "'\(folder.path)' is not a store: 'CURRENT' is missing; write '\(StoreFolder.databaseName(last))' to it. Nothing was changed."
        )
    }

    /// Returns the folder that a person probably meant who named a file; otherwise an empty text.
    private static func hint(of file: StoreFolder) -> String {
        guard let status = try? FileStatus(path: file.path), !status.isFolder else { return "" }
        // The path is absolute.
        let parent = StoreFolder(path: "/" + file.path.split(separator: "/").dropLast().joined(separator: "/"))
        if case .store? = try? parent.content() { return "; use its folder, '\(parent.path)'" }
        let isConfiguration = [".yaml", ".yml"].contains { file.path.hasSuffix($0) }
        return isConfiguration ? "; if it is a configuration file, its 'store.path' names the folder" : ""
    }

    package static func notAStore(_ folder: StoreFolder, _ what: String, isReadOnly: Bool = false) -> StoreError {
        StoreError(
            code: .notAStore,
            message:
                "'\(folder.path)' is not a store: \(what). Choose a store's folder\(isReadOnly ? "" : ", or an empty or new one"). Nothing was changed."
        )
    }

    /// Restricts the folder to its owner. Otherwise, other users could read stored data, or replace
    /// the database.
    private static func restrict(_ folder: StoreFolder, _ logger: Logger) throws {
        guard let status = try FileStatus(path: folder.path), status.permissions & 0o077 != 0 else { return }
        let mode = String(status.permissions, radix: 8)
        if chmod(folder.path, 0o700) == 0 {
            logger.notice(
                "the store's folder was accessible to other users; restricted it to its owner",
                metadata: ["store.path": "\(folder.path)", "store.mode": "0\(mode)"]
            )
            return
        }
        let failure = SystemFailure("restrict the folder", folder.path)
        if let error = objection(to: status, of: folder, failure) { throw error }
        guard access(folder.path, W_OK) == 0 else { throw failure }
    }

    /// Returns the error for a folder that could not be restricted; `nil` if the folder can be used
    /// anyway.
    static func objection(to status: FileStatus, of folder: StoreFolder, _ failure: SystemFailure) -> (any Error)? {
        guard failure.number == EPERM else { return failure }
        // A mounted folder may belong to another user who lets this process write there. Its files
        // are restricted in any case. The folder is rejected only if every user may write there.
        guard status.permissions & 0o002 != 0 else { return nil }
        let mode = String(status.permissions, radix: 8)
        return StoreError(
            code: .unwritable,
            message:
                "Every user of this machine can write to the folder '\(folder.path)' (mode 0\(mode)), and this process cannot restrict it because another user owns it (uid \(status.owner)). "
                + "Name a new folder inside it, which is created with mode 0700. Nothing was changed."
        )
    }

    package static func translatingErrors<Result>(
        _ folder: StoreFolder,
        _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw StoreError(error, path: folder.path, whileOpening: true)
        }
    }
}
