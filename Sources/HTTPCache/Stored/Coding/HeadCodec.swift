package import HTTPCacheSemantics
import HTTPTypes
import LibC

/// The encoding of a stored response's head: a version, and length-prefixed fields in wire order.
///
/// Stores protect it with a checksum; the nodes of a fleet seal it with a key. Decoding has no side
/// effects, returns `nil` for damaged input, and never traps.
package enum HeadCodec {
    /// The version of the encoding, which is the first byte.
    package static let version: UInt8 = 1
    /// The kind of record, which is the second byte. A store uses other kinds for its other
    /// records.
    package static let kind: UInt8 = 0

    private static let invalidatedFlag: UInt8 = 1
    private static let explicitExpiryFlag: UInt8 = 2
    /// Set if ``StoredResponseHead/sharingBasis`` is recorded. Earlier versions of the program
    /// write neither this flag nor the value, and ignore both when they read a head.
    private static let basisFlag: UInt8 = 4
    private static let directivesFlag: UInt8 = 8

    /// Encodes a head.
    package static func encode(_ head: StoredResponseHead) -> [UInt8] {
        // The capacity includes the checksum; most heads fit.
        var writer = ByteWriter(reservingCapacity: 512)
        writer.write(version)
        writer.write(kind)
        var flags: UInt8 = 0
        if head.isInvalidated { flags |= invalidatedFlag }
        if head.explicitExpiry != nil { flags |= explicitExpiryFlag }
        if head.sharingBasis != .unrecorded { flags |= basisFlag }
        if head.sharingBasis == .directives { flags |= directivesFlag }
        writer.write(flags)
        writer.write(UInt16(truncatingIfNeeded: head.status.code))
        writer.write(head.requestTime.milliseconds)
        writer.write(head.responseTime.milliseconds)
        if let expiry = head.explicitExpiry { writer.write(expiry.milliseconds) }
        writer.write(prefixed: head.requestMethod.rawValue)
        writer.write(prefixed: head.status.reasonPhrase)
        write(head.selectingFields, to: &writer)
        write(head.fields, to: &writer)
        return writer.bytes
    }

    /// Decodes a head. Returns `nil` if it is damaged or has an unknown version.
    package static func decode(_ content: UnsafeRawBufferPointer) -> StoredResponseHead? {
        var reader = ByteReader(content)
        guard reader.read(UInt8.self) == version,
            reader.read(UInt8.self) == kind,
            let flags = reader.read(UInt8.self),
            let status = reader.read(UInt16.self), (0...999).contains(status),
            let requestTime = reader.read(Int64.self),
            let responseTime = reader.read(Int64.self)
        else { return nil }
        var explicitExpiry: Timestamp?
        if flags & explicitExpiryFlag != 0 {
            guard let milliseconds = reader.read(Int64.self) else { return nil }
            explicitExpiry = Timestamp(milliseconds: milliseconds)
        }
        guard let method = reader.readPrefixed().flatMap(method),
            let reasonPhrase = reader.readPrefixed(),
            let selectingFields = readFields(&reader),
            let fields = readEncodedFields(&reader),
            reader.remaining == 0
        else { return nil }
        var head = StoredResponseHead(
            requestMethod: method,
            selectingFields: selectingFields,
            status: self.status(Int(status), reasonPhrase),
            headFields: fields,
            requestTime: Timestamp(milliseconds: requestTime),
            responseTime: Timestamp(milliseconds: responseTime),
            explicitExpiry: explicitExpiry,
            isInvalidated: flags & invalidatedFlag != 0
        )
        if flags & basisFlag == 0 {
            head.sharingBasis = .unrecorded
        } else if flags & directivesFlag != 0 {
            head.sharingBasis = .directives
        }
        return head
    }

    private static func write(_ fields: HTTPFields, to writer: inout ByteWriter) {
        writer.write(UInt32(truncatingIfNeeded: fields.count))
        for field in fields {
            writer.write(prefixed: field.name.rawName)
            field.withUnsafeBytesOfValue { writer.write(prefixed: $0) }
        }
    }

    private static func readFields(_ reader: inout ByteReader) -> HTTPFields? {
        guard let count = readCount(&reader) else { return nil }
        var fields = HTTPFields()
        if count == 0 { return fields }
        fields.reserveCapacity(count)
        for _ in 0..<count {
            guard let name = reader.readPrefixed().flatMap(KnownFieldNames.name), let value = reader.readPrefixed()
            else { return nil }
            fields.append(field(name, value))
        }
        return fields
    }

    /// Reads fields without decoding them. Verifies their structure and names, so that damage is
    /// detected now.
    private static func readEncodedFields(_ reader: inout ByteReader) -> HeadFields? {
        let start = reader.offset
        guard let count = readCount(&reader) else { return nil }
        if count == 0 { return HeadFields(HTTPFields()) }
        let names = KnownFieldNames.table
        for _ in 0..<count {
            guard let name = reader.readPrefixed(), names.isName(name), reader.readPrefixed() != nil else { return nil }
        }
        return HeadFields(
            EncodedFields(bytes: [UInt8](reader.bytes(from: start)), count: count, decode: decodeFields)
        )
    }

    private static let decodeFields: @Sendable ([UInt8]) -> HTTPFields = { bytes in
        bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            // The bytes were verified, so decoding succeeds.
            return readFields(&reader) ?? HTTPFields()
        }
    }

    /// Reads the number of fields. Returns `nil` for 65,535 or more, because `HTTPFields` traps at
    /// that number, and if the remaining bytes cannot hold that many fields.
    private static func readCount(_ reader: inout ByteReader) -> Int? {
        guard let count = reader.read(UInt32.self), count < 65_535, reader.remaining >= Int(count) * 8 else {
            return nil
        }
        return Int(count)
    }

    /// Creates a field. Most values are plain text, and checking for that is faster than sanitizing
    /// the value.
    private static func field(_ name: HTTPField.Name, _ value: UnsafeRawBufferPointer) -> HTTPField {
        value.isPlainText
            ? HTTPField(name: name, value: String(decoding: value, as: UTF8.self))
            : HTTPField(name: name, lenientValue: value)
    }

    private static func method(_ bytes: UnsafeRawBufferPointer) -> HTTPRequest.Method? {
        bytes.hasBytes("GET") ? .get : HTTPRequest.Method(String(decoding: bytes, as: UTF8.self))
    }

    private static func status(_ code: Int, _ reasonPhrase: UnsafeRawBufferPointer) -> HTTPResponse.Status {
        if code == 200, reasonPhrase.hasBytes("OK") { return .ok }
        // Bytes that are not UTF-8 are replaced.
        return HTTPResponse.Status(code: code, reasonPhrase: String(decoding: reasonPhrase, as: UTF8.self))
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether the bytes equal those of a text.
    fileprivate func hasBytes(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && baseAddress.map { memcmp($0, text.utf8Start, count) == 0 } ?? true
    }

    /// Whether the bytes are printable ASCII without a leading or trailing space, which makes them
    /// a valid field value. RFC 9110 §5.5
    fileprivate var isPlainText: Bool {
        let space = UInt8(ascii: " ")
        guard let first, first != space, self[count - 1] != space else { return isEmpty }
        var offset = 0
        // Checks eight bytes at a time. In `found`, a byte's highest bit is set if the byte is a
        // control character, DEL, or not ASCII. The parentheses are needed, because `|`, `&-` and
        // `&+` have the same precedence.
        while offset &+ 8 <= count {
            let word = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let found = word | (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101)
            if found & 0x8080_8080_8080_8080 != 0 { return false }
            offset &+= 8
        }
        while offset < count {
            if !(0x20...0x7e).contains(self[offset]) { return false }
            offset &+= 1
        }
        return true
    }
}
