import Foundation

/// Standard output, buffered.
struct Output {
    /// Nobody reads standard output any more.
    struct Closed: Error {}

    private static let capacity = 64 << 10

    private var buffer: [UInt8] = []

    mutating func line(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.capacity { try flush() }
    }

    /// One JSON object on a line of its own, its keys sorted.
    mutating func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Octets as they are.
    mutating func append(_ octets: some Sequence<UInt8>) throws {
        buffer.append(contentsOf: octets)
        if buffer.count >= Self.capacity { try flush() }
    }

    /// Writes out what is buffered; to be called once at the end.
    ///
    /// By the system's own call: `FileHandle` does not tell a closed pipe from a full disk.
    mutating func flush() throws {
        defer { buffer.removeAll(keepingCapacity: true) }
        try buffer.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = systemWrite(STDOUT_FILENO, rest.baseAddress, rest.count)
                if count >= 0 {
                    written += count
                } else if errno == EPIPE {
                    throw Closed()
                } else if errno != EINTR {
                    throw CommandFailure("Writing to standard output failed: \(String(cString: strerror(errno))).")
                }
            }
        }
    }
}

/// `write(2)`, which has the name of a method here.
private let systemWrite = write
