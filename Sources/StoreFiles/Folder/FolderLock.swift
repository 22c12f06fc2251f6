import LibC

/// The writer's lock on a folder: `flock` on the folder itself and on the file `lock`, which
/// contains the writer's process ID and name.
///
/// The file alone would not be enough: every process with write access to the folder can remove it.
/// A new file with that name is a different file to the kernel, but the folder stays the same.
/// Older versions lock only the file. The kernel releases both locks when the process ends for any
/// reason. The file's content is only used in messages.
package final class FolderLock: Sendable {
    private let handle: FileHandle
    private let folder: FileHandle

    /// A process has the folder open for writing.
    package struct InUse: Error {
        package let folder: String
        /// The process, in words.
        package let holder: String
        /// Whether it is this process.
        package let isHeldHere: Bool
    }

    /// The folder that is locked, whatever is at its path now.
    package var identity: FileIdentity? { FileIdentity(descriptor: folder.descriptor) }

    /// - Throws: ``InUse`` or ``SystemFailure``.
    package init(path: String, folder: String) throws {
        self.folder = try FileHandle(path: folder, flags: O_RDONLY | O_DIRECTORY)
        handle = try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW)
        let holder = Self.process(in: handle)
        let inUse = InUse(
            folder: folder,
            holder: holder?.words ?? "another process",
            isHeldHere: holder?.pid == getpid()
        )
        if flock(self.folder.descriptor, LOCK_EX | LOCK_NB) != 0 {
            // Some file systems (NFS) cannot lock folders. Then the file's lock is the only one.
            if errno == EWOULDBLOCK { throw inUse }
        }
        guard flock(handle.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let failure = SystemFailure("lock", path)
            throw failure.number == EWOULDBLOCK ? inUse : failure
        }
        do {
            try Self.write("\(getpid()) \(Self.processName)\n", to: handle)
        } catch let failure as SystemFailure where !failure.isFullDisk {
            throw failure
        } catch {
            // The locks hold; only the name for other processes' messages is missing.
        }
    }

    /// Replaces the file's content. The file never becomes empty, so it keeps its block on a full
    /// disk.
    private static func write(_ text: String, to handle: FileHandle) throws {
        try handle.write(Array(text.utf8), at: 0)
        try handle.truncate(to: Int64(text.utf8.count))
    }

    /// Releases the locks.
    ///
    /// The file stays, because otherwise two processes could lock two files with the same name.
    package func release() {
        try? Self.write("0\n", to: handle)
        flock(handle.descriptor, LOCK_UN)
        flock(folder.descriptor, LOCK_UN)
    }

    /// Returns whether a process has the folder open for writing, according to the lock file. Takes
    /// no lock.
    package static func isHeld(path: String) -> Bool { holder(path: path) != nil }

    /// Returns the process that has the folder open for writing, in words, according to the lock
    /// file. Takes no lock.
    package static func holder(path: String) -> String? {
        guard let handle = try? FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW),
            let process = process(in: handle), kill(process.pid, 0) == 0 || errno == EPERM
        else { return nil }
        return process.words
    }

    private static func process(in handle: FileHandle) -> (pid: pid_t, words: String)? {
        guard let bytes = try? handle.read(count: 256, at: 0) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard let first = words.first, let pid = pid_t(first), pid > 0 else { return nil }
        if pid == getpid() { return (pid, "this process (pid \(pid))") }
        let name = words.dropFirst().joined(separator: " ")
        return (pid, name.isEmpty ? "the process with pid \(pid)" : "'\(name)' (pid \(pid))")
    }

    private static var processName: String {
        let path = CommandLine.arguments.first ?? ""
        let name = path.split(separator: "/").last ?? ""
        return String(
            name.unicodeScalars.filter { $0.isASCII && $0.value > 32 && $0.value < 127 }.prefix(64).map(Character.init)
        )
    }
}
