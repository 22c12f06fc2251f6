import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// How the content of a response to a client is delimited, as announced in its head. RFC 9112 §6
struct ResponseFraming {
    private enum Delimiting {
        case nothing, length, chunked, close
    }

    private let delimiting: Delimiting
    private var content: ResponseContent
    /// Whether the connection ends with this response.
    let closes: Bool
    private let minorVersion: Int

    /// - Parameters:
    ///   - code: the response's status.
    ///   - method: the request's method; `nil` if no request could be read.
    ///   - minorVersion: the request's minor version.
    ///   - length: the length of the content, if known.
    ///   - isKeptAlive: whether the connection can be reused.
    init(_ code: Int, to method: HTTPRequest.Method?, minorVersion: Int, length: StatedLength?, isKeptAlive: Bool) {
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

    /// Returns the head as bytes.
    func bytes(of head: GatewayResponseHead) -> ByteBuffer { .head { write(head, to: &$0) } }

    /// Returns the head as bytes, and the positions of its values that depend on the time.
    func bytesAndOffsets(of head: GatewayResponseHead) -> (bytes: ByteBuffer, places: TimeOffsets) {
        var places = TimeOffsets()
        let bytes = ByteBuffer.head { bytes in
            bytes.places = TimeOffsets()
            write(head, to: &bytes)
            if let recorded = bytes.places { places = recorded }
        }
        return (bytes, places)
    }

    private func write(_ head: GatewayResponseHead, to bytes: inout HeadWriter) {
        bytes.writeStatusLine(head.response.status)
        bytes.writeFields(head) { content.passesLength || $0 != "content-length" }
        // RFC 9110 §7.8
        if head.response.status.code == 426, head.response.headerFields.contains(.upgrade) {
            bytes.writeField("Connection", "upgrade")
        }
        writeEnd(&bytes)
    }

    /// Writes the fields that delimit the content and the connection, and the end of the head.
    func writeEnd(_ bytes: inout HeadWriter) {
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
    var endsWithConnection: Bool { delimiting == .close }

    /// Returns the bytes to write for a piece of content; `nil` if there are none.
    ///
    /// - Throws: ``ResponseContent/Overrun`` if the content is longer than announced.
    mutating func bytes(of piece: ByteBuffer) throws(ResponseContent.Overrun) -> ByteBuffer? {
        guard try content.take(piece.readableBytes) else { return nil }
        switch delimiting {
        case .nothing: return nil
        case .length: return piece.readableBytes > 0 ? piece : nil
        case .chunked: return piece.readableBytes > 0 ? .chunk(piece) : nil
        case .close: return piece
        }
    }

    /// Whether all announced content was written.
    var isComplete: Bool { content.isComplete }

    /// Returns the bytes to write after the content. Only chunked content can have trailers.
    func end(_ trailers: HTTPFields?) -> ByteBuffer? { delimiting == .chunked ? .lastChunk(trailers) : nil }
}

extension HeadWriter {
    /// Writes all fields except those that delimit the content and the connection. The gateway's
    /// own fields come last.
    ///
    /// - Parameter isWritten: whether to write a field of the response, given its name in
    ///   lowercase.
    mutating func writeFields(_ head: GatewayResponseHead, where isWritten: (String) -> Bool = { _ in true }) {
        writeFields(head.response.headerFields, where: isWritten)
        writeField("Via", head.via)
        let start = count + "Cache-Status: ".utf8.count
        writeField("Cache-Status", head.cacheStatus)
        if let digits = head.timeToLive {
            places?.timeToLive = start + digits.lowerBound..<start + digits.upperBound
        }
    }
}
