import CommandLineSupport
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import OfflineStore

/// Writes an entry's body, as a stream or as a text preview.
struct Body {
    private static let previewLength = 2_048

    let store: CacheManager
    let entry: StoreEntry

    /// Writes the whole body, one chunk at a time.
    func write(to output: inout Output) async throws {
        guard let stream = try await store.body(of: entry) else {
            throw CommandFailure(
                "The body of entry \(entry.id) is damaged or was just removed. 'cache-dump verify' shows damage."
            )
        }
        for try await chunk in stream { try output.append(chunk.readableBytesView) }
    }

    /// Returns the beginning of a text body, or `nil` if the body is not text or cannot be read.
    func preview() async throws -> (text: String, isWhole: Bool)? {
        guard isText, let stream = try await store.body(of: entry) else { return nil }
        var bytes: [UInt8] = []
        for try await chunk in stream {
            bytes.append(contentsOf: chunk.readableBytesView.prefix(Self.previewLength - bytes.count))
            if bytes.count == Self.previewLength { break }
        }
        let isWhole = Int64(bytes.count) == entry.bodyLength
        if !isWhole { Self.dropUnfinishedCharacter(&bytes) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return (text, isWhole)
    }

    private var isText: Bool {
        guard let type = entry.contentType?.mediaType else { return false }
        return type.hasPrefix("text/") || type.hasSuffix("+json") || type.hasSuffix("+xml")
            || ["application/json", "application/xml", "application/graphql", "application/javascript"].contains(type)
    }

    /// Drops an incomplete last character, which would make the text look binary.
    private static func dropUnfinishedCharacter(_ bytes: inout [UInt8]) {
        for length in 1...3 where length <= bytes.count {
            let lead = bytes[bytes.count - length]
            guard lead & 0xC0 != 0x80 else { continue }
            let expected = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1
            if expected > length { bytes.removeLast(length) }
            return
        }
    }
}
