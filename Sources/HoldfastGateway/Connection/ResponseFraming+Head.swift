import HTTPTypes
import HTTPWire
import NIOCore
import OriginConnections

/// Writes the heads of the gateway's responses.
extension ResponseFraming {
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
        bytes.writeFields(head) { passesLength || $0 != "content-length" }
        // RFC 9110 §7.8
        if head.response.status.code == 426, head.response.headerFields.contains(.upgrade) {
            bytes.writeField("Connection", "upgrade")
        }
        writeEnd(&bytes)
    }
}

extension ResponseFraming {
    /// Returns the bytes of a relayed response that are written in one piece.
    ///
    /// - Parameters:
    ///   - date: the `Date` to add; `nil` if the response has one.
    ///   - content: short content; `nil` if the content is written separately.
    func bytes(
        of response: RelayedMessage,
        date: String?,
        via: String,
        cacheStatus: String,
        content: ByteBuffer?
    ) -> ByteBuffer {
        .head(reserving: response.headLength + 512 + (content?.readableBytes ?? 0)) { bytes in
            response.bytes.withUnsafeReadableBytes { message in
                for index in 0..<response.runs.count { bytes.writeLines(message.part(response.runs[index])) }
            }
            if let date { bytes.writeField("Date", date) }
            bytes.writeField("Via", via)
            bytes.writeField("Cache-Status", cacheStatus)
            writeEnd(&bytes)
            content?.withUnsafeReadableBytes { bytes.writeLines($0) }
        }
    }
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
