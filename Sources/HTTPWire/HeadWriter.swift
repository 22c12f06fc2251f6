import HTTPCacheSemantics
package import HTTPTypes
package import NIOCore

/// Writes the bytes of a head in order. RFC 9112 §2.1
///
/// It writes to memory of a fixed size, and only counts the bytes that do not fit: see
/// ``NIOCore/ByteBuffer/head(_:)``.
package struct HeadWriter {
    private let room: UnsafeMutableRawBufferPointer
    /// The number of bytes written, including those that did not fit.
    package private(set) var count = 0
    /// The positions of the values that depend on the time; `nil` if they are not recorded.
    package var places: TimeOffsets?

    fileprivate init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

    fileprivate var isWhole: Bool { count <= room.count }

    private mutating func put(_ bytes: UnsafeRawBufferPointer) {
        let end = count + bytes.count
        if end <= room.count { UnsafeMutableRawBufferPointer(rebasing: room[count..<end]).copyMemory(from: bytes) }
        count = end
    }

    private mutating func put(_ byte: UInt8) {
        if count < room.count { room[count] = byte }
        count += 1
    }

    private mutating func put(_ text: String) {
        if text.utf8.withContiguousStorageIfAvailable({ put(UnsafeRawBufferPointer($0)) }) != nil { return }
        var text = text
        text.withUTF8 { put(UnsafeRawBufferPointer($0)) }
    }

    private mutating func put(_ text: StaticString) {
        text.withUTF8Buffer { put(UnsafeRawBufferPointer($0)) }
    }

    private mutating func putLineEnd() {
        put(UInt8.carriageReturn)
        put(UInt8.lineFeed)
    }

    /// Writes `method SP request-target SP HTTP/1.1 CRLF`.
    package mutating func writeRequestLine(_ method: HTTPRequest.Method, _ target: String) {
        put(method.rawValue)
        put(UInt8.space)
        put(target)
        put(" HTTP/1.1\r\n" as StaticString)
    }

    /// Writes `HTTP/1.1 SP status-code SP reason-phrase CRLF`. If the status has no phrase, the
    /// phrase registered by RFC 9110 §15 is written.
    package mutating func writeStatusLine(_ status: HTTPResponse.Status) {
        if status.code == 200, status.reasonPhrase.isEmpty || status.reasonPhrase == "OK" {
            return put("HTTP/1.1 200 OK\r\n" as StaticString)
        }
        put("HTTP/1.1 " as StaticString)
        put(String(status.code))
        put(UInt8.space)
        let phrase = status.reasonPhrase.isEmpty ? status.registeredPhrase : status.reasonPhrase
        for scalar in phrase.unicodeScalars {
            let byte = UInt8(exactly: scalar.value) ?? UInt8(ascii: "?")
            put(byte.isFieldValueByte ? byte : .space)
        }
        putLineEnd()
    }

    /// Writes the fields in order, without the empty line at the end. The case of names and the
    /// bytes of values do not change.
    ///
    /// A field that would break the framing is skipped, because a line end in a value would start
    /// the next field.
    ///
    /// - Parameter isWritten: whether to write a field, given its name in lowercase.
    package mutating func writeFields(_ fields: HTTPFields, where isWritten: (String) -> Bool = { _ in true }) {
        // By index, because a loop over the fields would copy each one.
        for index in fields.indices where isWritten(fields[index].name.canonicalName) {
            fields[index].withUnsafeBytesOfValue { value in
                guard value.allSatisfy(\.isFieldValueByte) else { return }
                put(fields[index].name.rawName)
                put(": " as StaticString)
                if places != nil, fields[index].name == .age { places?.age = count..<count + value.count }
                put(UnsafeRawBufferPointer(value))
                putLineEnd()
            }
        }
    }

    /// Writes one field whose value needs no check.
    package mutating func writeField(_ name: StaticString, _ value: String) {
        put(name)
        put(": " as StaticString)
        put(value)
        putLineEnd()
    }

    /// Writes whole lines, including their line ends.
    package mutating func writeLines(_ bytes: UnsafeRawBufferPointer) { put(bytes) }

    /// Writes the line of a last chunk. The trailer section must follow. RFC 9112 §7.1
    mutating func writeLastChunk() { put("0\r\n" as StaticString) }

    /// Writes the empty line that ends a head.
    package mutating func writeEndOfHead() { putLineEnd() }
}

/// The positions of a head's values that depend on the time, as byte offsets from its start.
package struct TimeOffsets: Hashable {
    /// The value of `Age`.
    package var age: Range<Int>?
    /// The digits of the gateway's own `ttl`.
    package var timeToLive: Range<Int>?

    package init(age: Range<Int>? = nil, timeToLive: Range<Int>? = nil) {
        (self.age, self.timeToLive) = (age, timeToLive)
    }
}

extension ByteBuffer {
    /// Returns a head that is longer than most, or is followed by content.
    ///
    /// - Parameters:
    ///   - room: a number of bytes that is nearly always enough.
    ///   - write: writes the head. It is called again if `room` was not enough.
    package static func head(reserving room: Int, _ write: (inout HeadWriter) -> Void) -> ByteBuffer {
        var bytes = ByteBuffer()
        var needed = room
        while bytes.readableBytes == 0 {
            bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: needed) { room in
                var writer = HeadWriter(room)
                write(&writer)
                needed = writer.count
                return writer.isWhole ? writer.count : 0
            }
        }
        return bytes
    }

    /// A size that fits nearly all heads. This memory is on the stack.
    private static let usualHead = 1024

    /// Returns a head or a part of one.
    ///
    /// - Parameter write: writes the bytes. It is called again if they exceed the usual size.
    package static func head(_ write: (inout HeadWriter) -> Void) -> ByteBuffer {
        var bytes = ByteBuffer()
        let count = withUnsafeTemporaryAllocation(byteCount: usualHead, alignment: 1) { room in
            var writer = HeadWriter(room)
            write(&writer)
            if writer.isWhole { bytes.writeBytes(UnsafeRawBufferPointer(rebasing: room[..<writer.count])) }
            return writer.count
        }
        return count > usualHead ? head(reserving: count, write) : bytes
    }
}

extension HTTPResponse.Status {
    private static let common: [Self] = [
        .continue, .switchingProtocols, .ok, .created, .accepted, .noContent, .partialContent, .movedPermanently,
        .found, .seeOther,
        .notModified, .temporaryRedirect, .permanentRedirect, .badRequest, .unauthorized, .forbidden, .notFound,
        .methodNotAllowed, .requestTimeout, .preconditionFailed, .contentTooLarge, .uriTooLong, .rangeNotSatisfiable,
        .expectationFailed, .tooManyRequests, .requestHeaderFieldsTooLarge, .internalServerError, .notImplemented,
        .badGateway, .serviceUnavailable, .gatewayTimeout, .httpVersionNotSupported,
    ]

    /// The phrase registered for the code. Heads from HTTP/2 and from some origins have none.
    fileprivate var registeredPhrase: String { Self.common.first { $0.code == code }?.reasonPhrase ?? "" }
}
