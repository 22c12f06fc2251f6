import LibC
import StoreFiles

/// One backup, from the paths to the finished folder.
struct Backup {
    let source: StoreFolder
    let target: StoreFolder
    let progress: @Sendable (StoreBackup.Progress) -> Void
    /// Returns the number of free bytes on the disk of a path.
    var freeBytes: @Sendable (String) -> Int64? = { FileSystemStatus(path: $0)?.free }

    /// The store's database, when the backup begins.
    private struct Database {
        var number: Int
        var path: String
        var identity: FileIdentity?
        var sharing: DatabaseOpening.Sharing
        var version: Int32
        /// The size of its content.
        var bytes: Int64
    }

    func run() throws -> StoreBackup {
        do {
            let database = try examine()
            try checkPlace()
            let folder = try BackupFolder(for: target)
            do {
                if folder.hadLeftovers { progress(.removedUnfinished(folder.unfinished.path)) }
                return try copy(database, to: folder)
            } catch {
                folder.discard()
                throw error
            }
        } catch {
            throw explained(error)
        }
    }

    private func copy(_ database: Database, to folder: BackupFolder) throws -> StoreBackup {
        try checkSpace(for: database.bytes, at: folder.unfinished.path)
        let copy = try DatabaseCopy(
            of: database.path,
            database.sharing,
            version: database.version,
            to: folder.copyPath
        )
        var rounds = BackupRounds()
        var copied: Int64 = 0
        repeat {
            copied = try copy.copyBodies {
                try Task.checkCancellation()
                progress(.copied(try copy.bytes, of: database.bytes))
            }
        } while rounds.isAnotherDue(after: copied)
        // Before the snapshot, because a writer records a number in the database first.
        let known = try SequenceSidecar.read(path: source.sidecarPath)
        try copy.copyEntries { try checkIsSame(database, version: $0) }
        try Task.checkCancellation()
        let content = try copy.finish()
        // If the store does not trust its entries, the backup must not trust them either.
        try folder.publish(database.number, sequence: known.map { max($0, content.sequence) })
        return StoreBackup(
            folder: target.path,
            databaseName: StoreFolder.databaseName(database.number),
            schemaVersion: Int(database.version),
            responses: content.responses,
            objects: content.objects,
            bytes: content.bytes,
            databaseBytes: content.databaseBytes,
            invalidationSequence: content.sequence,
            hasInvalidations: known.map { $0 <= content.sequence } ?? false
        )
    }

    // MARK: Before the copy

    private func examine() throws -> Database {
        let content = try StoreOpening.examine(source, isReadOnly: true)
        guard case .store(let number) = content else { throw StoreOpening.noStore(source, content) }
        let path = source.databasePath(number)
        guard try StoreOpening.isOurs(path) else {
            throw SQLiteFailure(code: 26, message: "the file is missing or is not a database")
        }
        let sharing = try StoreDatabase.sharing(path: path, folder: source.path)
        let connection = try DatabaseOpening.reader(path: path, sharing)
        defer { connection.close() }
        let version = Int32(truncatingIfNeeded: try connection.integer("PRAGMA user_version") ?? 0)
        try DatabaseHeader.checkVersion(version, path: path)
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        return Database(
            number: number,
            path: path,
            identity: try FileIdentity(path: path),
            sharing: sharing,
            version: version,
            bytes: max(0, pages - free) * StoreLimits.pageSize
        )
    }

    private func checkPlace() throws {
        let content = try target.content()
        try checkIsNoLink(toNothing: content == .absent)
        switch content {
        case .absent: break
        case .empty: try checkIsNoMount()
        case .store, .unnamed, .other:
            throw refusal("'\(target.path)' exists and is not an empty folder. Name a new folder.")
        }
        let store = try FileIdentity(path: source.path)
        var path = target.path
        while let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            path = String(path[..<slash])
            if let outer = try FileIdentity(path: path), outer == store {
                throw refusal("'\(target.path)' is inside the store. Name a folder outside it.")
            }
        }
    }

    /// A backup replaces its folder, which is impossible for a link.
    private func checkIsNoLink(toNothing: Bool) throws {
        var status = stat()
        guard lstat(target.path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
        let lost = toNothing ? " that leads to no folder" : ""
        throw refusal("'\(target.path)' is a symbolic link\(lost). Remove it, or name another folder.")
    }

    /// A backup replaces its folder, which is impossible for the root of a file system.
    private func checkIsNoMount() throws {
        guard let folder = try FileStatus(path: target.path),
            let outer = try FileStatus(path: target.path + "/.."), folder.device != outer.device
        else { return }
        throw refusal(
            "'\(target.path)' is the root of a file system. Name a folder in it, such as '\(target.path)/store'."
        )
    }

    private func checkSpace(for bytes: Int64, at path: String) throws {
        guard let free = freeBytes(path), free < bytes else { return }
        throw StoreError(
            code: .full,
            message: "The backup needs about \(bytes) bytes, but the disk of '\(target.path)' has \(free) free. "
                + "Free some space, or name a folder on another disk. Nothing was changed."
        )
    }

    private func refusal(_ message: String) -> StoreError {
        StoreError(code: .invalidConfiguration, message: message + " Nothing was changed.")
    }

    // MARK: In the snapshot

    /// Checks that the copied database is still the store's, with the same schema. A damaged or
    /// deleted database is replaced, and a new version of the program migrates it.
    private func checkIsSame(_ database: Database, version: Int64) throws {
        guard try source.content() == .store(number: database.number),
            try FileIdentity(path: database.path) == database.identity, version == Int64(database.version)
        else {
            throw StoreError(
                code: .busy,
                message: "The database of the store '\(source.path)' was replaced or migrated during the backup. "
                    + "No backup was made. Run the backup again."
            )
        }
    }

    // MARK: Failures

    private func explained(_ error: any Error) -> any Error {
        if error is CancellationError || error is StoreError { return error }
        if let failure = error as? SQLiteFailure, failure.isDamage {
            return StoreError(
                code: .damaged,
                message: "The database of the store '\(source.path)' is damaged (\(failure.message)). "
                    + "No backup was made. Stop the writer, and copy the intact entries with 'cache-dump recover'.",
                cause: failure
            )
        }
        // Failures of the system name the path themselves.
        let explained = StoreError(error, path: source.path)
        guard explained.code == .full else { return explained }
        return StoreError(
            code: .full,
            message: "The disk that holds '\(target.path)' is full. No backup was made. "
                + "Free some space, or name a folder on another disk.",
            cause: error
        )
    }
}
