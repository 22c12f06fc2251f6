package import HTTPCacheSemantics
package import HTTPTypes
package import NIOCore

/// How the content of a response to a client is delimited, as announced in its head. RFC 9112 §6
package struct ResponseFraming {
    private enum Delimiting {
        case nothing, length, chunked, close
    }

    private let delimiting: Delimiting
    private var content: ResponseContent
    /// Whether the connection ends with this response.
    package let closes: Bool
    private let minorVersion: Int

    /// - Parameters:
    ///   - code: the response's status.
    ///   - method: the request's method; `nil` if no request could be read.
    ///   - minorVersion: the request's minor version.
    ///   - length: the length of the content, if known.
    ///   - isKeptAlive: whether the connection can be reused.
    package init(
        _ code: Int,
        to method: HTTPRequest.Method?,
        minorVersion: Int,
        length: StatedLength?,
        isKeptAlive: Bool
    ) {
        self.minorVersion = minorVersion
        content = ResponseContent(code, to: method, length: length)
        if !content.isWritten {
            delimiting = .nothing
        } else if length != nil {
            delimiting = .length
        } else {
            delimiting = minorVersion > 0 ? .chunked : .close
        }
        closes = delimiting == .close || !isKeptAlive
    }

    /// Whether the response's own `Content-Length` is forwarded.
    package var passesLength: Bool { content.passesLength }

    /// Writes the fields that delimit the content and the connection, and the end of the head.
    package func writeEnd(_ bytes: inout HeadWriter) {
        switch delimiting {
        case .length: bytes.writeField("Content-Length", (content.rest ?? 0).description)
        case .chunked: bytes.writeField("Transfer-Encoding", "chunked")
        case .nothing, .close: break
        }
        if closes {
            bytes.writeField("Connection", "close")
        } else if minorVersion == 0 {
            bytes.writeField("Connection", "keep-alive")
        }
        bytes.writeEndOfHead()
    }

    /// Whether the end of the connection marks the end of the content. If so, a client cannot
    /// notice missing content. RFC 9112 §8
    package var endsWithConnection: Bool { delimiting == .close }

    /// Returns the bytes to write for a piece of content; `nil` if there are none.
    ///
    /// - Throws: ``ResponseContent/Overrun`` if the content is longer than announced.
    package mutating func bytes(of piece: ByteBuffer) throws(ResponseContent.Overrun) -> ByteBuffer? {
        guard try content.take(piece.readableBytes) else { return nil }
        switch delimiting {
        case .nothing: return nil
        case .length: return piece.readableBytes > 0 ? piece : nil
        case .chunked: return piece.readableBytes > 0 ? .chunk(piece) : nil
        case .close: return piece
        }
    }

    /// Whether all announced content was written.
    package var isComplete: Bool { content.isComplete }

    /// Returns the bytes to write after the content. Only chunked content can have trailers.
    package func end(_ trailers: HTTPFields?) -> ByteBuffer? { delimiting == .chunked ? .lastChunk(trailers) : nil }
}
