import HTTPTypes
import NIOCore

/// Puts down the bytes of a head one after another. RFC 9112 §2.1
///
/// It writes into room that is there already, and goes on counting where that ends: see
/// ``NIOCore/ByteBuffer/head(_:)``.
struct HeadWriter {
    private let room: UnsafeMutableRawBufferPointer
    /// Bytes that were put, whether or not there was room for them.
    private(set) var count = 0

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

    /// `method SP request-target SP HTTP/1.1 CRLF`
    mutating func writeRequestLine(_ method: HTTPRequest.Method, _ target: String) {
        put(method.rawValue)
        put(UInt8.space)
        put(target)
        put(" HTTP/1.1\r\n" as StaticString)
    }

    /// `HTTP/1.1 SP status-code SP reason-phrase CRLF`; without a phrase, the one that RFC 9110 §15
    /// registers.
    mutating func writeStatusLine(_ status: HTTPResponse.Status) {
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

    /// The fields in their order, names in their case, values byte for byte; without the empty line
    /// at the end.
    ///
    /// A field that would break the framing is left out: a value with a line's end in it begins the
    /// next field.
    ///
    /// - Parameter isWritten: whether a name, in lower case, is.
    mutating func writeFields(_ fields: HTTPFields, where isWritten: (String) -> Bool = { _ in true }) {
        // By place: a loop over the fields themselves copies each.
        for index in fields.indices where isWritten(fields[index].name.canonicalName) {
            fields[index].withUnsafeBytesOfValue { value in
                guard value.allSatisfy(\.isFieldValueByte) else { return }
                put(fields[index].name.rawName)
                put(": " as StaticString)
                put(UnsafeRawBufferPointer(value))
                putLineEnd()
            }
        }
    }

    /// One field whose value holds nothing that needs a check.
    mutating func writeField(_ name: StaticString, _ value: String) {
        put(name)
        put(": " as StaticString)
        put(value)
        putLineEnd()
    }

    /// Whole lines, each with its end.
    mutating func writeLines(_ bytes: UnsafeRawBufferPointer) { put(bytes) }

    /// The empty line that ends a head.
    mutating func writeEndOfHead() { putLineEnd() }
}

extension ByteBuffer {
    /// A head that is longer than most, or has content behind it.
    ///
    /// - Parameters:
    ///   - room: bytes that are enough nearly always.
    ///   - write: puts it down; a second time where they were not.
    static func head(reserving room: Int, _ write: (inout HeadWriter) -> Void) -> ByteBuffer {
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

    /// Bytes that nearly all heads fit into, and that are taken from the stack.
    private static let usualHead = 1024

    /// A head, or a part of one.
    ///
    /// - Parameter write: puts it down; a second time where it is longer than heads usually are.
    static func head(_ write: (inout HeadWriter) -> Void) -> ByteBuffer {
        var bytes = ByteBuffer()
        let count = withUnsafeTemporaryAllocation(byteCount: usualHead, alignment: 1) { room in
            var writer = HeadWriter(room)
            write(&writer)
            if writer.isWhole { bytes.writeBytes(UnsafeRawBufferPointer(rebasing: room[..<writer.count])) }
            return writer.count
        }
        if count > usualHead {
            bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
                var writer = HeadWriter(room)
                write(&writer)
                return writer.count
            }
        }
        return bytes
    }
}

extension HTTPResponse.Status {
    /// The phrase registered for the code, for heads that came without one, as HTTP/2's and some
    /// origins' do.
    fileprivate var registeredPhrase: String {
        switch code {
        case 100: "Continue"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
