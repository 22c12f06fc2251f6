import LibC

/// Reads whole files of a limited size.
package enum LocalFile {
    /// The error if a file cannot be read. It reveals nothing of the content.
    package struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// The path of the file, for messages. If a secret may be in place of a path, its end is
        /// `…`.
        package let path: String
        /// The fault and the next step, to follow the file's name.
        package let message: String

        init(_ path: String, _ message: String) { (self.path, self.message) = (path, message) }

        init(_ path: String, _ fault: String, code: CInt) {
            self.init(path, "\(fault): \(String(cString: strerror(code))).")
        }

        /// A sentence that begins with the path.
        package var description: String { "'\(path)' \(message)" }
    }

    /// Reads a regular file. Symbolic links are followed, because a volume of Kubernetes consists
    /// of them.
    ///
    /// - Parameters:
    ///   - limit: the maximum size, in bytes.
    ///   - isSecret: whether ``SecretAccess`` applies. The descriptor is checked, not the path,
    ///     because the file at the path could be replaced in the meantime.
    /// - Throws: ``Refusal``
    package static func read(_ path: String, limit: Int, isSecret: Bool = false) throws(Refusal) -> [UInt8] {
        // Without 'O_NONBLOCK', opening a named pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            if isSecret, let shown = MisplacedSecret.shown(path) { throw Refusal(shown, MisplacedSecret.message) }
            throw Refusal(path, "cannot be opened", code: code)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Refusal(path, "is not a file.")
        }
        if isSecret, let fault = SecretAccess(status).fault(of: path, for: .current) { throw Refusal(path, fault) }
        return try read(descriptor, path, limit: limit)
    }

    private static func read(_ descriptor: CInt, _ path: String, limit: Int) throws(Refusal) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= limit {
            let count = readBytes(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Refusal(path, "cannot be read", code: errno) }
            if count == 0 { break }
            bytes += piece.prefix(count)
        }
        guard bytes.count <= limit else { throw Refusal(path, "is too large. The limit is \(limit) bytes.") }
        return bytes
    }
}

/// Calls `read(2)`. Inside ``LocalFile``, the name `read` means the type's own function.
private func readBytes(_ descriptor: CInt, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
