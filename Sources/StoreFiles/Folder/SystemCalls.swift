package import LibC

/// A failed system call: its operation, its path and `errno`.
package struct SystemFailure: Error, CustomStringConvertible {
    package var number: Int32
    package var operation: StaticString
    package var path: String

    /// Creates a failure with the current `errno`.
    package init(_ operation: StaticString, _ path: String, number: Int32 = errno) {
        self.number = number
        self.operation = operation
        self.path = path
    }

    package var reason: String { String(cString: strerror(number)) }
    package var description: String { "\(operation) '\(path)': \(reason)" }

    package var isMissing: Bool { number == ENOENT }
    var isFullDisk: Bool { [ENOSPC, EDQUOT].contains(number) }

    /// Whether the process has too few descriptors to open a connection's files. When SQLite cannot
    /// open a file, it does not report why, and has already closed the others.
    package static var isOutOfDescriptors: Bool {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<4 {
            let descriptor = open("/", O_RDONLY | O_CLOEXEC)
            if descriptor < 0 { return [EMFILE, ENFILE].contains(errno) }
            descriptors.append(descriptor)
        }
        return false
    }
}

/// An open file, closed when the last reference is released.
package final class FileHandle: Sendable {
    package let descriptor: Int32
    let path: String

    /// - Parameter flags: `O_CLOEXEC` is added, so that no child process inherits the file.
    package init(path: String, flags: Int32) throws {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemFailure("open", path) }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Reads up to `count` bytes at `offset`; returns fewer only at the end of the file.
    package func read(count: Int, at offset: Int64) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let step = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress.map { $0 + filled }, count - filled, off_t(offset) + off_t(filled))
            }
            if step < 0 {
                if errno == EINTR { continue }
                throw SystemFailure("read", path)
            }
            if step == 0 { break }
            filled += step
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Writes all bytes at `offset`.
    package func write(_ bytes: [UInt8], at offset: Int64) throws {
        var written = 0
        while written < bytes.count {
            let step = bytes.withUnsafeBytes {
                pwrite(
                    descriptor,
                    $0.baseAddress.map { $0 + written },
                    bytes.count - written,
                    off_t(offset) + off_t(written)
                )
            }
            if step < 0 {
                if errno == EINTR { continue }
                throw SystemFailure("write", path)
            }
            written += step
        }
    }

    func truncate(to length: Int64) throws {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw SystemFailure("truncate", path) }
    }

    /// Waits until the file's content is durable on disk.
    package func synchronize() throws {
        #if canImport(Darwin)
            guard fcntl(descriptor, F_FULLFSYNC) == 0 || fsync(descriptor) == 0 else {
                throw SystemFailure("sync", path)
            }
        #else
            guard fdatasync(descriptor) == 0 else { throw SystemFailure("sync", path) }
        #endif
    }
}

/// The result of `stat` for a path.
package struct FileStatus: Equatable {
    package var size: Int64
    package var isFolder: Bool
    package var permissions: mode_t
    package var inode: UInt64
    /// The file system.
    package var device: UInt64
    package var owner: uid_t

    /// Returns `nil` if there is nothing at the path.
    ///
    /// - Parameter followsLink: whether a symbolic link at the path stands for what it leads to.
    package init?(path: String, followsLink: Bool = true) throws {
        var status = stat()
        guard (followsLink ? stat(path, &status) : lstat(path, &status)) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemFailure("examine", path)
        }
        size = Int64(status.st_size)
        isFolder = status.st_mode & S_IFMT == S_IFDIR
        permissions = status.st_mode & 0o777
        inode = UInt64(status.st_ino)
        device = UInt64(truncatingIfNeeded: status.st_dev)
        owner = status.st_uid
    }
}

/// A file or folder, whatever its path is.
package struct FileIdentity: Hashable {
    private let device: UInt64
    private let inode: UInt64

    private init(_ status: stat) {
        (device, inode) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    }

    /// Returns `nil` if there is nothing at the path.
    package init?(path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemFailure("examine", path)
        }
        self.init(status)
    }

    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// The result of `statvfs` for the file system of a path.
package struct FileSystemStatus {
    /// The number of bytes that this process may still write.
    package var free: Int64
    /// The size of the whole file system, in bytes.
    package var size: Int64
    /// Whether the file system is mounted read-only.
    package var isReadOnly: Bool

    /// Returns `nil` if the call fails.
    package init?(path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        func bytes(_ blocks: Int64) -> Int64 {
            let (bytes, isTooMuch) = blocks.multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
            return isTooMuch ? .max : bytes
        }
        free = bytes(Int64(clamping: status.f_bavail))
        size = bytes(Int64(clamping: status.f_blocks))
        // `ST_RDONLY`, which not every C library module declares.
        isReadOnly = status.f_flag & 1 != 0
    }
}

/// Returns the names in a folder, without `.` and `..`.
package func namesInFolder(_ path: String) throws -> [String] {
    guard let folder = opendir(path) else { throw SystemFailure("list", path) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// Creates a folder and its missing parents, each with mode 0700.
package func makeFolder(_ path: String) throws {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
        throw SystemFailure("create the folder", path)
    }
    try makeFolder(String(path[..<slash]))
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemFailure("create the folder", path) }
}

/// Makes the creations, renames and removals in a folder durable.
package func synchronizeFolder(_ path: String) throws {
    let handle = try FileHandle(path: path, flags: O_RDONLY)
    guard fsync(handle.descriptor) == 0 else { throw SystemFailure("sync", path) }
}
