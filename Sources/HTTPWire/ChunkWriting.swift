package import HTTPTypes
package import NIOCore

/// Writes the chunked coding. RFC 9112 §7.1
extension ByteBuffer {
    /// Returns a chunk: its size line, its content, and its end. RFC 9112 §7.1
    package static func chunk(_ content: ByteBuffer) -> ByteBuffer {
        var chunk = ByteBuffer()
        chunk.reserveCapacity(content.readableBytes + 20)
        chunk.writeString(String(content.readableBytes, radix: 16))
        chunk.writeString("\r\n")
        chunk.writeImmutableBuffer(content)
        chunk.writeString("\r\n")
        return chunk
    }

    /// Returns the last chunk and the trailer section. RFC 9112 §7.1.2
    package static func lastChunk(_ trailers: HTTPFields?) -> ByteBuffer {
        guard let trailers else { return emptyLastChunk }
        return .head { bytes in
            bytes.writeLastChunk()
            bytes.writeFields(trailers)
            bytes.writeEndOfHead()
        }
    }

    private static let emptyLastChunk = ByteBuffer(string: "0\r\n\r\n")
}
