import HTTPCacheSemantics
package import NIOCore

/// Replaces origins' URLs in content that arrives in pieces, wherever it is split.
///
/// It holds back only bytes that may begin such a URL: at most the longest origin URL with its path
/// up to ``URLReader/pathLimit``, and the few bytes after it that show its end. It reads each byte
/// once, except that held-back bytes are read again, and the path after a URL is read twice.
package struct BodyRewriter {
    private var client: RewriteClient
    private var held = ByteBuffer()
    /// The text before ``held``.
    private var before = TextBefore()

    /// Whether a backslash always begins an escape. If so, the letter in `\n` is not part of a
    /// word.
    private let isJSON: Bool

    /// - Parameter contentType: the content's `Content-Type`; `nil` if it has none.
    package init(for client: RewriteClient, contentType: String? = nil) {
        self.client = client
        isJSON = contentType.map { Self.isJSON($0) } ?? false
    }

    /// Whether a content type is JSON, or lines of JSON. RFC 6839 §3.1
    static func isJSON(_ contentType: String) -> Bool {
        let name = contentType.mediaType.split { $0 == "/" || $0 == "+" }.last ?? ""
        return ["json", "x-json", "ndjson", "x-ndjson", "jsonl", "x-jsonl", "json-seq"].contains(name)
    }

    /// The number of bytes held back.
    var heldCount: Int { held.readableBytes }

    /// Returns the bytes that can be sent after the next piece has arrived; possibly none.
    ///
    /// - Parameter isLast: whether it is the last piece.
    package mutating func rewrite(_ piece: ByteBuffer, isLast: Bool = false) -> ByteBuffer {
        var input = held
        if input.readableBytes > 0 { input.writeImmutableBuffer(piece) } else { input = piece }
        var output = ByteBuffer()
        var copied = 0
        let end = input.withUnsafeReadableBytes { bytes -> Int in
            var index = 0
            while index < bytes.count {
                let byte = bytes[index]
                guard byte.mayBeginURL else {
                    before.append(byte)
                    index += 1
                    continue
                }
                let reader = URLReader(bytes: bytes, index: index, isLast: isLast, surroundings: .text)
                do throws(URLReader.Incomplete) {
                    guard let match = try client.match(reader, behind: before) else {
                        let symbol = isJSON ? try reader.peekEscapedSymbol() : nil
                        before.append(symbol?.byte ?? byte)
                        index += symbol?.width ?? 1
                        continue
                    }
                    output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[copied..<index]))
                    output.writeBytes(match.replacement)
                    index += match.length
                    copied = index
                    before.append(bytes[index - 1])
                } catch {
                    return index
                }
            }
            return index
        }
        let rest = input.getSlice(at: input.readerIndex + copied, length: end - copied) ?? ByteBuffer()
        // A copy; otherwise a few bytes would keep the whole piece in memory.
        held = ByteBuffer(bytes: input.readableBytesView.dropFirst(end))
        guard copied > 0 else { return rest }
        output.writeImmutableBuffer(rest)
        return output
    }
}

extension UInt8 {
    fileprivate var mayBeginURL: Bool {
        self | 0x20 == UInt8(ascii: "h") || self == UInt8(ascii: "/") || self == UInt8(ascii: "\\")
    }
}
