import LibC
import OfflineStore
import StoreFiles

/// One recovery, from the paths to the new store.
///
/// The new database does not have a store's file name until it is finished, so an interrupted
/// recovery never looks like a store.
struct Recovery {
    private let source: StoreFolder
    private let target: StoreFolder
    private var unfinishedPath: String { target.path + "/recovering" }

    init(from source: StoreFolder, to target: StoreFolder) {
        self.source = source
        self.target = target
    }

    func run() throws -> StoreRecovery {
        let sources = try sources()
        let lock = try lockSource()
        defer { withExtendedLifetime(lock) {} }
        let isNew = try prepareTarget()
        do {
            return try run(sources)
        } catch {
            for ending in ["", "-wal", "-shm", "-journal"] { unlink(unfinishedPath + ending) }
            if isNew { rmdir(target.path) }
            throw error
        }
    }

    private func run(_ sources: [Source]) throws -> StoreRecovery {
        let secrets = StoreSecrets.random()
        let limits = try StoreLimits(CacheManager.Configuration())
        try DatabaseOpening.create(path: unfinishedPath, limits: limits, secrets: secrets, firstID: 1, sequence: 0)
        let salvage = try Salvage(folder: target.path, secrets: secrets)
        let number = sources.compactMap(\.number).max().map { $0 + 1 } ?? 1
        try DatabaseOpening.withWriter(path: unfinishedPath, limits: limits) { connection in
            try salvage.begin(connection)
            for source in sources {
                try salvage.copy(
                    DatabaseImage(path: source.path),
                    name: source.name,
                    known: source.known,
                    to: connection
                )
            }
            try salvage.finish(connection, firstID: Int64(number % 2048) << 36 + 1)
        }
        try publish(number: number, sequence: salvage.sequence)
        return salvage.report
    }

    // MARK: The old store

    private struct Source {
        var path: String
        var name: String
        var number: Int?
        /// The number of the last invalidation in the sidecar; `nil` if the sidecar does not belong
        /// to this database.
        var known: Int64?
    }

    private func sources() throws -> [Source] {
        guard let status = try FileStatus(path: source.path) else {
            throw StoreOpening.notAStore(source, "it does not exist", isReadOnly: true)
        }
        guard status.isFolder else {
            let name = String(source.path.split(separator: "/").last ?? "")
            let found = Source(path: source.path, name: name, number: StoreFolder.databaseNumber(name))
            try check(found)
            return [found]
        }
        let numbers = try source.databases()
        guard !numbers.isEmpty else {
            throw StoreOpening.notAStore(source, "it contains no database", isReadOnly: true)
        }
        var live: Int?
        if case .store(let number) = try? source.content() { live = number }
        if live.map({ !numbers.contains($0) }) ?? true { live = numbers.last }
        let known = try? SequenceSidecar.read(path: source.sidecarPath)
        let order = numbers.filter { $0 == live } + numbers.reversed().filter { $0 != live }
        return try order.map { number in
            let found = Source(
                path: source.databasePath(number),
                name: StoreFolder.databaseName(number),
                number: number,
                known: number == live ? known : nil
            )
            try check(found)
            return found
        }
    }

    private func check(_ source: Source) throws {
        switch try DatabaseHeader(path: source.path) {
        case .ours(let version): try DatabaseHeader.checkVersion(version, path: source.path)
        case .foreign:
            throw StoreError(
                code: .foreignDatabase,
                message: "The database '\(source.path)' belongs to another program. Nothing was changed."
            )
        // Recovery is for exactly such files.
        case .unreadable, .missing: break
        }
    }

    /// Returns a lock that blocks writers as long as it exists. Does not write to the lock file.
    private func lockSource() throws -> FileHandle? {
        var path = source.lockPath
        if try FileStatus(path: source.path)?.isFolder == false {
            path = String(source.path[..<(source.path.lastIndex(of: "/") ?? source.path.startIndex)]) + "/lock"
        }
        guard try FileStatus(path: path) != nil else { return nil }
        let handle = try FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW)
        guard flock(handle.descriptor, LOCK_SH | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw SystemFailure("lock", path) }
            throw StoreError(
                code: .inUse,
                message:
                    "The store '\(source.path)' is open for writing in \(FolderLock.holder(path: path) ?? "another process"). "
                    + "Stop that process first. To copy an undamaged store while it runs, use 'cache-dump backup'."
            )
        }
        return handle
    }

    // MARK: The new store

    /// Creates the target folder, or checks that it is empty.
    ///
    /// - Returns: whether the folder was created.
    private func prepareTarget() throws -> Bool {
        guard !(target.path + "/").hasPrefix(source.path + "/") else {
            throw StoreError(
                code: .invalidConfiguration,
                message:
                    "'\(target.path)' is inside the store to recover. Choose a folder outside it. Nothing was changed."
            )
        }
        switch try target.content() {
        case .absent:
            try makeFolder(target.path)
            return true
        case .empty:
            guard chmod(target.path, 0o700) == 0 else { throw SystemFailure("restrict the folder", target.path) }
            return false
        case .store, .unnamed, .other:
            throw StoreError(
                code: .invalidConfiguration,
                message: "'\(target.path)' is not empty. Choose a new folder. Nothing was changed."
            )
        }
    }

    private func publish(number: Int, sequence: Int64) throws {
        let path = target.databasePath(number)
        // These files are empty: the log was copied and truncated, and the last connection is
        // closed.
        for ending in ["-wal", "-shm"] { unlink(unfinishedPath + ending) }
        try FileHandle(path: unfinishedPath, flags: O_RDWR).synchronize()
        guard rename(unfinishedPath, path) == 0 else { throw SystemFailure("rename", unfinishedPath) }
        do {
            try SequenceSidecar(path: target.sidecarPath).write(sequence)
            try target.setCurrent(number)
        } catch {
            for name in [path, target.sidecarPath, target.currentPath] { unlink(name) }
            throw error
        }
    }
}
