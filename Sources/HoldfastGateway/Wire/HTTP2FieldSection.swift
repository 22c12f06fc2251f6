import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// The fields of a request's head or trailer section, collected during decoding. RFC 9113 §8.3.1
///
/// A connection decodes one section at a time, so all its requests use the same memory.
struct HTTP2FieldSection {
    /// For each field: the lengths of the name and the value as two 32-bit numbers, then their
    /// bytes.
    private var bytes = ByteBuffer()
    private var lineLength = 0
    private var blockLength = 0
    private var count = 0
    private let limits: MessageLimits

    init(limits: MessageLimits) { self.limits = limits }

    /// Creates a section from the bytes of another section.
    init(_ bytes: ByteBuffer, limits: MessageLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func clear() {
        bytes.clear()
        (lineLength, blockLength, count) = (0, 0, 0)
    }

    /// Adds a field. A field beyond the limits is only counted. The rest is still decoded, because
    /// the decoder's table must stay in sync with the client's. RFC 9113 §10.5.1
    ///
    /// - Returns: `false` if the section is too large to be worth decoding.
    mutating func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        let length = name.count + value.count
        if name.first == UInt8(ascii: ":") {
            lineLength += length
        } else {
            blockLength += length + ": \r\n".utf8.count
            count += 1
        }
        if isWithinLimits {
            bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: 8 + length) { room in
                room.storeBytes(of: UInt32(name.count).bigEndian, as: UInt32.self)
                room.storeBytes(of: UInt32(value.count).bigEndian, toByteOffset: 4, as: UInt32.self)
                let rest = UnsafeMutableRawBufferPointer(rebasing: room.dropFirst(8))
                rest.copyMemory(from: UnsafeRawBufferPointer(name))
                UnsafeMutableRawBufferPointer(rebasing: rest.dropFirst(name.count))
                    .copyMemory(from: UnsafeRawBufferPointer(value))
                return 8 + length
            }
        }
        return blockLength + lineLength <= 4 * (limits.fieldBlock + limits.startLine) && count <= 4 * limits.fieldCount
    }

    /// The bytes that are the same for identical sections; `nil` if the section exceeds a limit. In
    /// that case some fields are missing from the bytes, which could then match a different
    /// request.
    ///
    /// Inlined, because a call would get a copy of the section: the connection is a class.
    @inline(__always)
    var lookupKey: ByteBuffer? { isWithinLimits ? bytes : nil }

    /// The number of bytes of all decoded fields.
    var decodedCount: Int { lineLength + blockLength }

    private var isWithinLimits: Bool {
        lineLength <= limits.startLine && blockLength <= limits.fieldBlock && count <= limits.fieldCount
    }

    private var refusal: MessageRefusal? {
        if isWithinLimits { return nil }
        if lineLength > limits.startLine {
            return MessageRefusal(.startLineTooLong, status: 414, .bytes(limits.startLine))
        }
        if blockLength > limits.fieldBlock {
            return MessageRefusal(.fieldsTooLarge, status: 431, .bytes(limits.fieldBlock))
        }
        return MessageRefusal(.fieldsTooLarge, status: 431, .lines(limits.fieldCount))
    }

    /// Returns the request's head, validated like a head in HTTP/1.
    ///
    /// - Parameter endsStream: whether the request has no content.
    func head(endsStream: Bool) throws(MessageRefusal) -> RequestHead {
        if let refusal { throw refusal }
        var parts = Parts()
        try forEachField { name, value throws(MessageRefusal) in try parts.take(name, value) }
        return try parts.head(endsStream: endsStream)
    }

    /// Returns the trailer fields that may be forwarded, validated like those in HTTP/1; `nil` if
    /// there are none.
    func trailers() throws(MessageRefusal) -> HTTPFields? {
        guard count > 0 else { return nil }
        guard blockLength <= limits.trailers, count <= limits.fieldCount else {
            throw MessageRefusal(.trailersTooLarge, status: 431)
        }
        var fields = HTTPFields()
        try forEachField { name, value throws(MessageRefusal) in fields.append(try FieldBlock.field(name, value)) }
        return TrailerRules().passing(fields)
    }

    private func forEachField(
        _ take: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(MessageRefusal) -> Void
    ) throws(MessageRefusal) {
        try bytes.withUnsafeReadableBytes { bytes throws(MessageRefusal) in
            var place = 0
            while place < bytes.count {
                let nameLength = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
                let valueLength = Int(
                    UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self))
                )
                let value = place + 8 + nameLength
                try take(bytes.part(place + 8..<value), bytes.part(value..<value + valueLength))
                place = value + valueLength
            }
        }
    }
}

/// The parts of a request's head.
private struct Parts {
    private var method: HTTPRequest.Method?
    private var target = ByteBuffer()
    private var authority: RequestedHost?
    private var host: RequestedHost?
    private var hasScheme = false
    /// The value of `:protocol`, in lowercase. RFC 8441 §4
    private var protocolName: String?
    private var fields = HTTPFields()

    /// Connection-specific fields of HTTP/1, which are malformed here. RFC 9113 §8.2.2
    private static let connectionFields = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]

    mutating func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(MessageRefusal) {
        guard name.first == UInt8(ascii: ":") else { return try take(FieldBlock.field(name, value)) }
        switch String(decoding: name, as: UTF8.self) {
        case ":method":
            guard let method = RequestLine.method(value) else { throw MessageRefusal(.method) }
            self.method = method
        case ":path":
            target = ByteBuffer(bytes: value)
        case ":scheme":
            // The gateway's routes accept both schemes, and name the origin's scheme.
            guard ["http", "https"].contains(String(decoding: value, as: UTF8.self).lowercased()) else {
                throw MessageRefusal(.target)
            }
            hasScheme = true
        case ":protocol":
            guard protocolName == nil, let name = RequestLine.method(value)?.rawValue else {
                throw MessageRefusal(.fieldLine)
            }
            protocolName = name.lowercased()
        case ":authority":
            authority = try Self.authority(FieldBlock.field(UnsafeRawBufferPointer(rebasing: name.dropFirst()), value))
        default:
            throw MessageRefusal(.fieldLine)
        }
    }

    private static func authority(_ field: HTTPField) throws(MessageRefusal) -> RequestedHost {
        guard let authority = RequestHead.authority(field) else { throw MessageRefusal(.host) }
        return authority
    }

    private mutating func take(_ field: HTTPField) throws(MessageRefusal) {
        switch field.name.canonicalName {
        case "host":
            guard host == nil else { throw MessageRefusal(.host, .repeatedHost) }
            host = try Self.authority(field)
        case "cookie":
            // A client may split 'Cookie' into several fields. Origins get one field. RFC 9113
            // §8.2.3
            if let place = fields.firstIndex(where: { $0.name == .cookie }) {
                fields[place] = Self.join(fields[place], field)
                return
            }
        case let name where Self.connectionFields.contains(name):
            throw MessageRefusal(.fieldLine)
        default:
            break
        }
        fields.append(field)
    }

    private static func join(_ cookie: HTTPField, _ crumb: HTTPField) -> HTTPField {
        let bytes =
            cookie.withUnsafeBytesOfValue { Array($0) } + Array("; ".utf8)
            + crumb.withUnsafeBytesOfValue { Array($0) }
        return HTTPField(name: cookie.name, lenientValue: bytes)
    }

    func head(endsStream: Bool) throws(MessageRefusal) -> RequestHead {
        guard let method else { throw MessageRefusal(.method) }
        // A different 'Host' would lead programs behind this one to another resource.
        guard let authority = authority ?? host else { throw MessageRefusal(.host, .missingHost) }
        guard host ?? authority == authority else { throw MessageRefusal(.host, .contradictoryHost) }
        let line = try target.withUnsafeReadableBytes { target throws(MessageRefusal) in
            try RequestLine(method, target: target, .http2, isExtended: protocolName != nil)
        }
        // Only CONNECT may have ':protocol'. RFC 8441 §4
        guard protocolName == nil || method == .connect else { throw MessageRefusal(.fieldLine) }
        let path: String
        switch line.target {
        case .origin(let text): path = text
        case .asterisk: path = "*"
        // RFC 9113 §8.3.1: the path begins with a slash.
        case .absolute: throw MessageRefusal(.target)
        }
        guard hasScheme else { throw MessageRefusal(.target) }
        // The stream's end is the content's end. A stated length must agree with it.
        let framing = try Framing(fields, minorVersion: 1) ?? (endsStream ? .none : .chunked)
        if case .length(let length) = framing, endsStream, length > 0 { throw MessageRefusal(.contentLength) }
        var head = try RequestHead(line, target: path, authority: authority, fields, framing)
        if let protocolName { head.request.upgrade = .connect(protocolName) }
        return head
    }
}
