import HTTPTypes
import NIOCore

/// Heads and chunks, written as octets. RFC 9112
extension ByteBuffer {
    /// `method SP request-target SP HTTP/1.1 CRLF`
    mutating func writeRequestLine(_ method: HTTPRequest.Method, _ target: String) {
        writeString(method.rawValue)
        writeString(" ")
        writeString(target)
        writeString(" HTTP/1.1\r\n")
    }

    /// `HTTP/1.1 SP status-code SP reason-phrase CRLF`; without a phrase, the one that RFC 9110 §15 registers.
    mutating func writeStatusLine(_ status: HTTPResponse.Status) {
        if status.code == 200, status.reasonPhrase.isEmpty || status.reasonPhrase == "OK" {
            writeStaticString("HTTP/1.1 200 OK\r\n")
            return
        }
        writeString("HTTP/1.1 \(status.code) ")
        let phrase = status.reasonPhrase.isEmpty ? status.registeredPhrase : status.reasonPhrase
        for scalar in phrase.unicodeScalars {
            let octet = UInt8(exactly: scalar.value) ?? UInt8(ascii: "?")
            writeInteger(octet.isFieldValueOctet ? octet : .space)
        }
        writeString("\r\n")
    }

    /// The fields in their order, names in their case, values octet for octet; without the empty line at the end.
    ///
    /// A field that would break the framing is left out: a value with a line's end in it begins the next field.
    ///
    /// - Parameter isWritten: whether a name, in lower case, is.
    mutating func writeFields(_ fields: HTTPFields, where isWritten: (String) -> Bool = { _ in true }) {
        for field in fields where isWritten(field.name.canonicalName) {
            field.withUnsafeBytesOfValue { value in
                guard value.allSatisfy(\.isFieldValueOctet) else { return }
                writeLine(field.name.rawName, UnsafeRawBufferPointer(value))
            }
        }
    }

    /// One field line, its room taken once.
    private mutating func writeLine(_ name: String, _ value: UnsafeRawBufferPointer) {
        var name = name
        name.withUTF8 { name in
            let count = name.count + value.count + 4
            writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
                room.copyBytes(from: name)
                room[name.count] = UInt8(ascii: ":")
                room[name.count + 1] = .space
                UnsafeMutableRawBufferPointer(rebasing: room[(name.count + 2)...]).copyMemory(from: value)
                room[count - 2] = .carriageReturn
                room[count - 1] = .lineFeed
                return count
            }
        }
    }

    /// Room that most heads fit into: growing on the way copies what is there.
    static func forHead() -> ByteBuffer {
        var octets = ByteBuffer()
        octets.reserveCapacity(512)
        return octets
    }

    /// One field whose value holds nothing that needs a check.
    mutating func writeField(_ name: StaticString, _ value: String) {
        writeStaticString(name)
        writeString(": ")
        writeString(value)
        writeString("\r\n")
    }

    /// The empty line that ends a head.
    mutating func writeEndOfHead() {
        writeString("\r\n")
    }

    /// A chunk's content between its size line and its end. RFC 9112 §7.1
    static func chunk(_ content: ByteBuffer) -> ByteBuffer {
        var chunk = ByteBuffer()
        chunk.reserveCapacity(content.readableBytes + 20)
        chunk.writeString(String(content.readableBytes, radix: 16))
        chunk.writeString("\r\n")
        chunk.writeImmutableBuffer(content)
        chunk.writeString("\r\n")
        return chunk
    }

    /// The last chunk with no trailers behind it.
    static let lastChunk = ByteBuffer(string: "0\r\n\r\n")
}

extension HTTPResponse.Status {
    /// The phrase registered for the code, for heads that came without one, as HTTP/2's and some origins' do.
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
