#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The one writer's claim on a folder: `flock` on the folder itself, and on the file `lock`, which
/// holds the writer's pid and name.
///
/// Every process that may write in the folder can remove the file, and another of its name is
/// another file to the kernel; the folder stays the same for as long as it is the store's. Programs
/// from before this one lock the file alone. The kernel lets go of both when the process ends,
/// however it ends; what the file says is only for messages.
final class FolderLock: Sendable {
    private let handle: FileHandle
    private let folder: FileHandle

    /// - Throws: ``StoreError`` with `inUse`, naming the holder, or `unwritable`.
    init(path: String, folder: String) throws {
        do {
            self.folder = try FileHandle(path: folder, flags: O_RDONLY | O_DIRECTORY)
            handle = try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch let failure as SystemFailure {
            throw failure.storeError
        }
        let inUse = StoreError(
            code: .inUse,
            message: "The store '\(folder)' is being written by \(Self.holder(in: handle)). "
                + "One process writes at a time: stop that one, or open the store read-only."
        )
        if flock(self.folder.descriptor, LOCK_EX | LOCK_NB) != 0 {
            // Some file systems lock no folders (NFS): then the file alone counts.
            if errno == EWOULDBLOCK { throw inUse }
        }
        guard flock(handle.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw errno == EWOULDBLOCK ? inUse : SystemFailure("lock", path).storeError
        }
        do {
            try handle.truncate(to: 0)
            try handle.write(Array("\(getpid()) \(Self.processName)\n".utf8), at: 0)
        } catch let failure as SystemFailure {
            throw failure.storeError
        }
    }

    /// Lets go.
    ///
    /// The file stays: removing it would let two processes hold two files of one name.
    func release() {
        try? handle.truncate(to: 0)
        flock(handle.descriptor, LOCK_UN)
        flock(folder.descriptor, LOCK_UN)
    }

    /// Whether a process has the folder open for writing, as far as its file says: nothing is
    /// locked to find out.
    static func isHeld(path: String) -> Bool {
        guard let handle = try? FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW),
            let bytes = try? handle.read(count: 32, at: 0),
            let word = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).first,
            let pid = pid_t(word), pid > 0
        else { return false }
        return kill(pid, 0) == 0 || errno == EPERM
    }

    private static func holder(in handle: FileHandle) -> String {
        guard let bytes = try? handle.read(count: 256, at: 0), !bytes.isEmpty else { return "another process" }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard let first = words.first, let pid = Int32(first) else { return "another process" }
        if pid == getpid() { return "this process already (pid \(pid))" }
        let name = words.dropFirst().joined(separator: " ")
        return name.isEmpty ? "the process with pid \(pid)" : "'\(name)' (pid \(pid))"
    }

    private static var processName: String {
        let path = CommandLine.arguments.first ?? ""
        let name = path.split(separator: "/").last ?? ""
        return String(
            name.unicodeScalars.filter { $0.isASCII && $0.value > 32 && $0.value < 127 }.prefix(64).map(Character.init)
        )
    }
}
