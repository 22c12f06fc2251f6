package import HTTPCache
import HTTPCacheSemantics
import LibC
import NIOCore
import NIOPosix

/// A file to send. Its length is determined when the request is built, and its bytes are read in
/// blocks of 256 KiB while it is sent.
///
/// The request either sends exactly the announced content, or breaks off before the last bytes. It
/// breaks off if the file's length or modification time has changed, because the content may no
/// longer be what the caller meant to send.
package struct FileContent: Sendable, Hashable {
    static let chunkSize = 256 << 10

    let path: String
    let state: State

    /// The properties that reveal a change to the file.
    struct State: Sendable, Hashable {
        var length: Int64
        var modifiedSeconds: Int64
        var modifiedNanoseconds: Int64
    }

    /// Reads the file's properties without opening it.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` if the file does not exist or is not
    ///   a regular file.
    package init(path: String) throws {
        var information = stat()
        guard stat(path, &information) == 0 else {
            throw Self.failure(path, "cannot be read: \(Self.words(errno))")
        }
        guard information.st_mode & S_IFMT == S_IFREG else { throw Self.failure(path, "is not a regular file") }
        self.path = path
        state = State(information)
    }

    /// Returns the bytes as a stream. The file is opened again for each read from the start, so
    /// that a request can be retried.
    ///
    /// - Parameter excluded: bytes that must not occur in the file. The stream fails before it
    ///   returns bytes that complete a match.
    package func body(excluding excluded: [UInt8] = []) -> BodyStream {
        let (path, state) = (path, state)
        return BodyStream(length: StatedLength(clamping: state.length)) {
            var file: OpenFile?
            var offset: Int64 = 0
            var search = ContentSearch(for: excluded)
            return {
                guard offset < state.length else { return nil }
                let opened: OpenFile
                if let file { opened = file } else { opened = try await OpenFile.open(path, state) }
                file = opened
                let chunk = try await opened.read(at: offset)
                offset += Int64(chunk.readableBytes)
                guard !search.finds(in: chunk) else {
                    throw TransportError(
                        code: .invalidRequest,
                        message:
                            "The file '\(path)' contains the multipart boundary, so the request was aborted. Set another 'boundary'."
                    )
                }
                if offset == state.length { file = nil }
                return chunk
            }
        }
    }

    private static func failure(_ path: String, _ what: String) -> HoldfastError {
        HoldfastError(code: .encodingFailed, message: "The file '\(path)' \(what). Nothing was sent.")
    }

    fileprivate static func words(_ code: Int32) -> String { String(cString: strerror(code)) }
}

extension FileContent.State {
    fileprivate init(_ information: stat) {
        #if canImport(Darwin)
            let time = information.st_mtimespec
        #else
            let time = information.st_mtim
        #endif
        self.init(
            length: Int64(information.st_size),
            modifiedSeconds: Int64(time.tv_sec),
            modifiedNanoseconds: Int64(time.tv_nsec)
        )
    }
}

/// An open file in a known state. It is read on NIO's thread pool, so that neither event loops nor
/// cooperative threads wait for the disk.
private final class OpenFile: Sendable {
    private let descriptor: Int32
    private let path: String
    private let state: FileContent.State

    private init(_ path: String, _ state: FileContent.State) throws {
        descriptor = openForReading(path)
        guard descriptor >= 0 else { throw Self.failure(path, "cannot be read: \(FileContent.words(errno))") }
        self.path = path
        self.state = state
    }

    deinit { close(descriptor) }

    static func open(_ path: String, _ state: FileContent.State) async throws -> OpenFile {
        try await NIOThreadPool.singleton.runIfActive {
            let file = try OpenFile(path, state)
            try file.checkUnchanged()
            return file
        }
    }

    /// Returns at least one byte, starting at an offset. It returns the last bytes only if the file
    /// has not changed.
    func read(at offset: Int64) async throws -> ByteBuffer {
        try await NIOThreadPool.singleton.runIfActive { [self] in
            let wanted = Int(min(Int64(FileContent.chunkSize), state.length - offset))
            var buffer = ByteBufferAllocator().buffer(capacity: wanted)
            let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { bytes in
                while true {
                    let count = pread(descriptor, bytes.baseAddress, wanted, off_t(offset))
                    if count >= 0 { return count }
                    guard errno == EINTR else {
                        throw Self.failure(path, "cannot be read: \(FileContent.words(errno))")
                    }
                }
            }
            guard count > 0 else { throw changed() }
            if offset + Int64(count) == state.length { try checkUnchanged() }
            return buffer
        }
    }

    private func checkUnchanged() throws {
        var information = stat()
        guard fstat(descriptor, &information) == 0, FileContent.State(information) == state else { throw changed() }
    }

    private func changed() -> TransportError {
        Self.failure(path, "changed after its length of \(state.length) bytes was announced")
    }

    private static func failure(_ path: String, _ what: String) -> TransportError {
        TransportError(
            code: .invalidRequest,
            message: "The file '\(path)' \(what), so the request was aborted. Send it again."
        )
    }
}

/// Opens a file for reading, and does not pass the descriptor to child processes. If the file was
/// replaced by a pipe, it does not wait for a writer.
private func openForReading(_ path: String) -> Int32 {
    open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
}
