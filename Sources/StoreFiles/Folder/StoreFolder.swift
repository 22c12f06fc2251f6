import LibC

/// A store's folder. It contains:
///
/// - numbered databases (`0001.sqlite`, each with SQLite's `-wal` and `-shm` files)
/// - `CURRENT`, a text file that names the database in use
/// - `lock`, which the writing process locks
/// - `sequence`, the number of the last invalidation
/// - `node`, the store's name among the nodes of a fleet, if it shares purges
/// - `mode`, `staleness` and `switches`, an operator's temporary settings, until they end
/// - `jobs`, a folder with a file for each recorded job
/// - `control.sock`, the socket of a running gateway with a control plane, or a link to it
/// - `handover.sock` and its lock, where a running gateway waits for the process that replaces it
///
/// A database in use is never renamed or removed. The other files are replaced atomically.
package struct StoreFolder: Sendable {
    /// The absolute path.
    package let path: String

    package var currentPath: String { path + "/CURRENT" }
    package var lockPath: String { path + "/lock" }
    package var sidecarPath: String { path + "/sequence" }
    package var nodePath: String { path + "/node" }
    package var jobsPath: String { path + "/jobs" }

    /// The names of operators' temporary settings. Each is kept in a file with its name.
    static let temporarySettings = ["mode", "staleness", "switches"]
    package func path(ofSetting name: String) -> String { path + "/" + name }

    /// Makes a relative path absolute, so that it stays valid if the process changes its working
    /// directory.
    package init(path: String) {
        var path = path
        if !path.hasPrefix("/"), let here = getcwd(nil, 0) {
            defer { free(here) }
            path = String(cString: here) + "/" + path
        }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    /// The current content of the path.
    package enum Content: Equatable {
        case absent
        case empty
        /// `CURRENT` names this database.
        case store(number: Int)
        /// Only store files, but no `CURRENT`: the creation of the store was interrupted, or
        /// `CURRENT` was lost.
        case unnamed(databases: [Int])
        /// Other content; the text describes it.
        case other(String)
    }

    package func content() throws -> Content {
        guard let status = try FileStatus(path: path) else { return .absent }
        guard status.isFolder else { return .other("it is a file, not a folder") }
        let names = try namesInFolder(path).filter { $0 != "lost+found" }
        if names.isEmpty { return .empty }
        if names.contains("CURRENT") {
            let bytes = try FileHandle(path: currentPath, flags: O_RDONLY | O_NOFOLLOW).read(count: 64, at: 0)
            var text = String(decoding: bytes, as: UTF8.self)
            if text.hasSuffix("\n") { text.removeLast() }
            guard let number = Self.databaseNumber(text) else {
                return .other("its file 'CURRENT' does not name a store's database")
            }
            return .store(number: number)
        }
        guard names.allSatisfy(Self.isOurs) else { return .other("it contains other files but no file 'CURRENT'") }
        return .unnamed(databases: names.compactMap(Self.databaseNumber).sorted())
    }

    package func databasePath(_ number: Int) -> String {
        path + "/" + Self.databaseName(number)
    }

    /// Returns the numbers of all databases in the folder, in ascending order.
    package func databases() throws -> [Int] {
        try namesInFolder(path).compactMap(Self.databaseNumber).sorted()
    }

    /// Makes `CURRENT` name a database, atomically. The change is durable when this returns.
    package func setCurrent(_ number: Int) throws {
        try replace(currentPath, with: Array((Self.databaseName(number) + "\n").utf8))
    }

    /// Replaces a file, or creates it, atomically. The file is durable when this returns.
    package func replace(_ file: String, with bytes: [UInt8]) throws {
        let next = file + ".new"
        do {
            let handle = try FileHandle(path: next, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
            try handle.write(bytes, at: 0)
            try handle.synchronize()
            guard rename(next, file) == 0 else { throw SystemFailure("replace", file) }
        } catch {
            // Part of it may be there, on a full disk.
            unlink(next)
            throw error
        }
        try synchronizeFolder(path)
    }

    /// Removes a file if it exists. The removal is durable when this returns.
    package func remove(_ file: String) throws {
        guard unlink(file) == 0 else {
            if errno == ENOENT { return }
            throw SystemFailure("remove", file)
        }
        try synchronizeFolder(path)
    }

    /// Returns the size of a database, including its logs and the index of its write-ahead log, in
    /// bytes.
    package func size(ofDatabase number: Int) -> Int64 {
        let path = databasePath(number)
        return ["", "-wal", "-shm", "-journal"].reduce(0) { sum, ending in
            sum + ((try? FileStatus(path: path + ending))?.size ?? 0)
        }
    }

    package static func databaseName(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + ".sqlite"
    }

    /// Returns the number in a name such as `0001.sqlite`; `nil` for every other name.
    package static func databaseNumber(_ name: String) -> Int? {
        guard name.hasSuffix(".sqlite"), let number = Int(name.dropLast(7)), number > 0 else { return nil }
        return databaseName(number) == name ? number : nil
    }

    private static func isOurs(_ name: String) -> Bool {
        let sockets = ["control.sock", "handover.sock", "handover.sock.lock"]
        let others = ["lock", "sequence", "node", "node.new", "CURRENT", "CURRENT.new", "jobs"] + sockets
        if others.contains(name) { return true }
        if temporarySettings.contains(where: { name == $0 || name == $0 + ".new" }) { return true }
        for ending in ["", "-wal", "-shm", "-journal"] where name.hasSuffix(ending) {
            if databaseNumber(String(name.dropLast(ending.count))) != nil { return true }
        }
        return false
    }
}
