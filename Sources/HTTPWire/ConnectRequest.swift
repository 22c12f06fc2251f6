import HTTPCacheSemantics
package import HTTPTypes
package import NIOCore

/// A request for a tunnel, with which a connection to a forward proxy begins. RFC 9110 §9.3.6
///
/// The result does not depend on how the bytes are split.
package struct ConnectRequest: Hashable {
    /// The beginning of a connection.
    package enum Reading: Hashable {
        case needsMore
        case connect(ConnectRequest)
        /// The connection begins with something else, such as a request in the absolute-form.
        case other
        case refused(MessageRefusal)
    }

    /// The host that the tunnel leads to.
    package var host: RequestedHost
    /// The port that the tunnel leads to.
    package var port: UInt16
    package var fields: HTTPFields
    /// The length of the request in bytes. The client's bytes for the tunnel follow.
    package var length: Int

    /// The maximum number of bytes in a request: 16 KiB
    package static let limit = 16 << 10
    private static let start = Array("CONNECT ".utf8)

    /// Reads the request at the start of a connection.
    ///
    /// - Parameter bytes: all bytes received so far.
    package static func read(_ bytes: ByteBuffer) -> Reading {
        guard zip(bytes.readableBytesView, start).allSatisfy({ $0 == $1 }) else { return .other }
        guard let length = bytes.readableBytesView.withUnsafeBytes({ HeadEnd.length(of: $0) }) else {
            return bytes.readableBytes < limit ? .needsMore : .refused(tooLong)
        }
        guard length <= limit else { return .refused(tooLong) }
        do throws(MessageRefusal) {
            return .connect(try ConnectRequest(bytes, length: length))
        } catch {
            return .refused(error)
        }
    }

    private static var tooLong: MessageRefusal {
        MessageRefusal(.fieldsTooLarge, status: 431, .bytes(limit))
    }

    private init(_ bytes: ByteBuffer, length: Int) throws(MessageRefusal) {
        var rest = bytes
        var cutter = LineCutter()
        guard let line = try cutter.next(in: &rest, limit: Self.limit, tooLong: Self.tooLong) else {
            throw MessageRefusal(.startLine)
        }
        let (host, port) = try line.withUnsafeReadableBytes { bytes throws(MessageRefusal) in try Self.target(bytes) }
        let tooLarge = MessageRefusal(.fieldsTooLarge, status: 431)
        var block = FieldBlock(limit: Self.limit, count: MessageLimits().fieldCount, tooLarge: tooLarge)
        guard try block.read(&rest) else { throw MessageRefusal(.fieldLine) }
        (self.host, self.port, fields, self.length) = (host, port, block.fields, length)
    }

    /// Reads `CONNECT SP host ":" port SP HTTP-version`. RFC 9112 §3.2.3
    private static func target(
        _ bytes: UnsafeRawBufferPointer
    ) throws(MessageRefusal) -> (host: RequestedHost, port: UInt16) {
        guard let methodEnd = bytes.firstIndex(of: .space, from: 0),
            let targetEnd = bytes.firstIndex(of: .space, from: methodEnd + 1),
            bytes.firstIndex(of: .space, from: targetEnd + 1) == nil
        else { throw MessageRefusal(.startLine) }
        _ = try RequestLine.minorVersion(bytes.part((targetEnd + 1)..<bytes.count), status: 505)
        let text = String(decoding: bytes.part((methodEnd + 1)..<targetEnd), as: UTF8.self)
        // The port is required. RFC 9110 §9.3.6
        guard let host = RequestedHost(text), let port = host.port else { throw MessageRefusal(.target) }
        return (host, port)
    }
}
