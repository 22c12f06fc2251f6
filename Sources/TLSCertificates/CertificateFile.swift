import LibC

/// A file that contains certificates or a key.
package struct CertificateFile {
    /// The maximum size of a file: 1 MiB
    static let limit = 1 << 20

    /// A value that changes when a file's content changes, or when another file replaces it.
    package struct Stamp: Hashable, Sendable {
        private var device: UInt64 = 0
        private var inode: UInt64 = 0
        private var size: Int64 = 0
        private var changed: [Int] = []

        /// - Returns: an empty stamp if there is no such file.
        package init(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return }
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            #if canImport(Darwin)
                let times = [status.st_mtimespec, status.st_ctimespec]
            #else
                let times = [status.st_mtim, status.st_ctim]
            #endif
            changed = times.flatMap { [Int($0.tv_sec), Int($0.tv_nsec)] }
        }
    }

    let path: String
    package let bytes: [UInt8]
    /// Whether every user of the machine can read the file.
    package let isReadableByOthers: Bool

    /// - Throws: ``CertificateRefusal``
    package init(_ path: String) throws(CertificateRefusal) {
        self.path = path
        // 'O_NONBLOCK', because opening a pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            throw CertificateRefusal(path, "cannot be opened: \(String(cString: strerror(code))).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CertificateRefusal(path, "is not a file.")
        }
        isReadableByOthers = status.st_mode & S_IROTH != 0
        guard status.st_size <= Self.limit else {
            throw CertificateRefusal(path, "is too large. The limit is \(Self.limit) bytes.")
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= Self.limit {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let code = errno
                throw CertificateRefusal(path, "cannot be read: \(String(cString: strerror(code))).")
            }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        self.bytes = bytes
    }
}
