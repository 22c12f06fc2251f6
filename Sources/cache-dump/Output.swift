import CommandLineSupport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Buffered standard output.
struct Output {
    private static let capacity = 64 << 10

    private var buffer: [UInt8] = []

    mutating func line(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.capacity { try flush() }
    }

    /// Writes one JSON object on one line, with sorted keys.
    mutating func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Writes bytes unchanged.
    mutating func append(_ bytes: some Sequence<UInt8>) throws {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.capacity { try flush() }
    }

    /// Writes the buffered output. Call it once at the end.
    mutating func flush() throws {
        defer { buffer.removeAll(keepingCapacity: true) }
        try buffer.withUnsafeBytes { try StandardStream.output.write($0) }
    }
}
