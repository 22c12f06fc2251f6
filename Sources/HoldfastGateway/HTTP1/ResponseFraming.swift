import HTTPTypes
import NIOCore

/// How one answer's content is delimited, which its head announces. RFC 9112 §6
struct ResponseFraming {
    private enum Delimiting {
        case nothing
        case length(rest: Int64)
        case chunked
        case close
    }

    private var delimiting: Delimiting
    /// `Content-Length` as it came, of an answer without content: it says what there would be. RFC
    /// 9110 §8.6
    private let passesLength: Bool
    /// Whether the connection ends with this answer.
    let closes: Bool
    private let minorVersion: Int

    /// - Parameters:
    ///   - code: the answer's status.
    ///   - method: the request's; `nil` where no request could be made out.
    ///   - minorVersion: the request's.
    ///   - length: bytes of the content, where they are known.
    ///   - isKeptAlive: whether the connection may take another request.
    init(_ code: Int, to method: HTTPRequest.Method?, minorVersion: Int, length: Int64?, isKeptAlive: Bool) {
        self.minorVersion = minorVersion
        var passesLength = false
        if method == .head || code == 304 {
            delimiting = .nothing
            passesLength = true
        } else if code == 204 {
            delimiting = .nothing
        } else if let length {
            delimiting = .length(rest: length)
        } else {
            delimiting = minorVersion > 0 ? .chunked : .close
        }
        self.passesLength = passesLength
        if case .close = delimiting { closes = true } else { closes = !isKeptAlive }
    }

    /// The bytes of the head.
    func bytes(of head: GatewayResponseHead) -> ByteBuffer {
        .head { bytes in
            bytes.writeStatusLine(head.response.status)
            bytes.writeFields(head) { passesLength || $0 != "content-length" }
            writeEnd(&bytes)
        }
    }

    /// The fields that delimit content and connection, and the head's end.
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

    /// Whether the client takes all that comes before the connection's end for the whole, however
    /// much it is. RFC 9112 §8
    var endsWithConnection: Bool { if case .close = delimiting { true } else { false } }

    /// What is written for some content: nothing of an answer that has none.
    ///
    /// - Throws: ``Overrun`` where it is more than was announced.
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

    /// Whether nothing is missing of what was announced.
    var isComplete: Bool { if case .length(let rest) = delimiting { rest == 0 } else { true } }

    /// What is written behind the content.
    var end: ByteBuffer? { if case .chunked = delimiting { .lastChunk } else { nil } }
}
