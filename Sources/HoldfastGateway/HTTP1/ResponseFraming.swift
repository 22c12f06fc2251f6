import HTTPTypes
import NIOCore

/// How the content of one response to a client is delimited. Its head announces that. RFC 9112 §6
struct ResponseFraming {
    private enum Delimiting {
        case nothing
        case length(rest: Int64)
        case chunked
        case close
    }

    private var delimiting: Delimiting
    /// Whether `Content-Length` is written for a response without content: it states the length
    /// that a GET would have. RFC 9110 §8.6
    private let passesLength: Bool
    /// Whether the connection ends with this response.
    let closes: Bool
    private let minorVersion: Int

    /// - Parameters:
    ///   - code: the response's status.
    ///   - method: the request's method; `nil` if no request could be read.
    ///   - minorVersion: the request's minor version.
    ///   - length: the length of the content, if it is known.
    ///   - isKeptAlive: whether the connection may take another request.
    init(_ code: Int, to method: HTTPRequest.Method?, minorVersion: Int, length: Int64?, isKeptAlive: Bool) {
        self.minorVersion = minorVersion
        passesLength = method == .head || code == 304
        if passesLength || code == 204 {
            delimiting = .nothing
        } else if let length {
            delimiting = .length(rest: length)
        } else {
            delimiting = minorVersion > 0 ? .chunked : .close
        }
        if case .close = delimiting { closes = true } else { closes = !isKeptAlive }
    }

    /// The head as bytes.
    func bytes(of head: GatewayResponseHead) -> ByteBuffer { .head { write(head, to: &$0) } }

    /// The head as bytes, and the places of the values in it that depend on the time.
    func bytesAndPlaces(of head: GatewayResponseHead) -> (bytes: ByteBuffer, places: TimePlaces) {
        var places = TimePlaces()
        let bytes = ByteBuffer.head { bytes in
            bytes.places = TimePlaces()
            write(head, to: &bytes)
            if let recorded = bytes.places { places = recorded }
        }
        return (bytes, places)
    }

    private func write(_ head: GatewayResponseHead, to bytes: inout HeadWriter) {
        bytes.writeStatusLine(head.response.status)
        bytes.writeFields(head) { passesLength || $0 != "content-length" }
        writeEnd(&bytes)
    }

    /// Writes the fields that delimit content and connection, and the end of the head.
    func writeEnd(_ bytes: inout HeadWriter) {
        switch delimiting {
        case .length(let rest): bytes.writeField("Content-Length", String(rest))
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

    /// Whether the end of the connection is the end of the content. Then a client cannot notice
    /// missing content. RFC 9112 §8
    var endsWithConnection: Bool { if case .close = delimiting { true } else { false } }

    /// The bytes that are written for a piece of content; `nil` for a response without content.
    ///
    /// - Throws: ``Overrun`` if the content is longer than announced.
    mutating func bytes(of content: ByteBuffer) throws(Overrun) -> ByteBuffer? {
        switch delimiting {
        case .nothing:
            return nil
        case .length(let rest):
            guard Int64(content.readableBytes) <= rest else { throw Overrun() }
            delimiting = .length(rest: rest - Int64(content.readableBytes))
            return content.readableBytes > 0 ? content : nil
        case .chunked:
            return content.readableBytes > 0 ? .chunk(content) : nil
        case .close:
            return content
        }
    }

    struct Overrun: Error {}

    /// Whether all announced content was written.
    var isComplete: Bool { if case .length(let rest) = delimiting { rest == 0 } else { true } }

    /// The bytes that are written after the content.
    var end: ByteBuffer? { if case .chunked = delimiting { .lastChunk } else { nil } }
}

extension HeadWriter {
    /// Writes all fields but those that delimit the content and the connection. The gateway's own
    /// come last.
    ///
    /// - Parameter isWritten: whether a field of the response is written, by its name in lower
    ///   case.
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
