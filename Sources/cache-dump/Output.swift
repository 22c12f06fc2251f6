import CommandLineSupport
import Foundation

/// Standard output, buffered.
struct Output {
    private static let capacity = 64 << 10

    private var buffer: [UInt8] = []

    mutating func line(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.capacity { try flush() }
    }

    /// Writes one JSON object on one line, its keys sorted.
    mutating func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Bytes as they are.
    mutating func append(_ bytes: some Sequence<UInt8>) throws {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.capacity { try flush() }
    }

    /// Writes the buffered output; to be called once at the end.
    mutating func flush() throws {
        defer { buffer.removeAll(keepingCapacity: true) }
        try buffer.withUnsafeBytes { try StandardStream.output.write($0) }
    }
}
