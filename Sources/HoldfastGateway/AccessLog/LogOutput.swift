import LibC
import NIOCore

/// The file, pipe or terminal that lines are written to. Only one thread uses it.
struct LogOutput {
    enum Result: Hashable {
        /// Some bytes were written, or none. Keep writing.
        case written
        /// The output has accepted no bytes for a while.
        case wait
        /// The system's error.
        case failed(Int32)
    }

    /// The maximum number of bytes that a pipe accepts atomically, so that other writers' lines do
    /// not get mixed in. Files accept more.
    private static let pipePiece = 4096
    private static let filePiece = 64 << 10
    /// The maximum duration of one wait for a full pipe, in milliseconds.
    private static let patience: Int32 = 100

    private var descriptor: Int32 = -1
    private var isOwn = false
    /// Whether the output so far ends in the middle of a line.
    private(set) var isInLine = false
    /// Whether the rest of a line is lost, so its line end must be written.
    private var isTorn = false
    /// The number of `LogWriter` openings when this output was opened.
    var opening = 0

    var isOpen: Bool { descriptor >= 0 }

    /// Whether the file was deleted, so that all lines written to it are lost. A renamed file stays
    /// in use until the destination is reopened, as logrotate expects.
    var isDeleted: Bool {
        var status = stat()
        return isOwn && fstat(descriptor, &status) == 0 && status.st_nlink == 0
    }

    /// Opens a destination.
    ///
    /// - Returns: the system's error; `nil` on success.
    mutating func open(_ destination: AccessLog.Destination) -> Int32? {
        close()
        (isInLine, isTorn) = (false, false)
        switch destination {
        case .standardError: descriptor = STDERR_FILENO
        case .standardOutput: descriptor = STDOUT_FILENO
        case .file(let path):
            // Opening does not wait for a pipe's reader.
            #if canImport(Darwin)
                descriptor = Darwin.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
            #elseif canImport(Musl)
                descriptor = Musl.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
            #else
                descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
            #endif
            guard descriptor >= 0 else { return errno }
            isOwn = true
        }
        return nil
    }

    mutating func close() {
        if isOwn {
            #if canImport(Darwin)
                _ = Darwin.close(descriptor)
            #elseif canImport(Musl)
                _ = Musl.close(descriptor)
            #else
                _ = Glibc.close(descriptor)
            #endif
        }
        descriptor = -1
        isOwn = false
    }

    /// Writes some of the bytes, and removes them from the buffer.
    mutating func write(_ bytes: inout ByteBuffer) -> Result {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // A standard stream is shared with other processes, so it must not be made nonblocking.
        guard poll(&state, 1, Self.patience) > 0 else { return .wait }
        if isTorn {
            guard system(ByteBuffer(string: "\n"), 1) == 1 else { return Self.failure(errno) }
            isTorn = false
        }
        let count = system(bytes, Self.piece(of: bytes, limit: isOwn ? Self.filePiece : Self.pipePiece))
        guard count > 0, let written = bytes.readSlice(length: count) else { return Self.failure(errno) }
        isInLine = written.readableBytesView.last != UInt8(ascii: "\n")
        return .written
    }

    /// Gives up the remaining bytes.
    mutating func abandon() {
        if isInLine { isTorn = true }
        isInLine = false
    }

    private static func failure(_ code: Int32) -> Result {
        switch code {
        case EINTR: return .written
        case EAGAIN, EWOULDBLOCK:
            // The pipe has room, but not for a whole piece.
            _ = poll(nil, 0, patience)
            return .wait
        default: return .failed(code)
        }
    }

    private func system(_ bytes: ByteBuffer, _ count: Int) -> Int {
        bytes.withUnsafeReadableBytes { pointer in
            #if canImport(Darwin)
                return Darwin.write(descriptor, pointer.baseAddress, count)
            #elseif canImport(Musl)
                return Musl.write(descriptor, pointer.baseAddress, count)
            #else
                return Glibc.write(descriptor, pointer.baseAddress, count)
            #endif
        }
    }

    /// Returns the length of as many whole lines as the limit allows, but at least one.
    private static func piece(of bytes: ByteBuffer, limit: Int) -> Int {
        let view = bytes.readableBytesView
        if view.count <= limit { return view.count }
        if let last = view.prefix(limit).lastIndex(of: UInt8(ascii: "\n")) { return last - view.startIndex + 1 }
        let first = view.firstIndex(of: UInt8(ascii: "\n"))
        return first.map { $0 - view.startIndex + 1 } ?? view.count
    }
}
