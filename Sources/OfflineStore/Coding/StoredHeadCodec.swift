package import HTTPCacheSemantics
import HTTPTypes

/// A stored response's head on disk: a version, its fields in wire order, each with its length, and a checksum.
///
/// The checksum's seed is the place where the head belongs (see ``HeadBinding``), so that a row whose numbers were damaged does not lend
/// its head to another body. Decoding is pure, answers `nil` for anything that is not whole, and never traps.
package enum StoredHeadCodec {
    /// The version of the encoding; the first octet.
    package static let version: UInt8 = 1

    private static let invalidatedFlag: UInt8 = 1
    private static let explicitExpiryFlag: UInt8 = 2

    /// Encodes a head for its place.
    package static func encode(_ head: StoredResponseHead, binding: HeadBinding) -> [UInt8] {
        binding.sealing(content(of: head))
    }

    /// What is encoded of a head whose place is not known yet.
    static func content(of head: StoredResponseHead) -> [UInt8] {
        var writer = OctetWriter(reservingCapacity: 512)
        writer.write(version)
        writer.write(HeadBinding.Kind.response.rawValue)
        var flags: UInt8 = 0
        if head.isInvalidated { flags |= invalidatedFlag }
        if head.explicitExpiry != nil { flags |= explicitExpiryFlag }
        writer.write(flags)
        writer.write(UInt16(truncatingIfNeeded: head.status.code))
        writer.write(head.requestTime.milliseconds)
        writer.write(head.responseTime.milliseconds)
        if let expiry = head.explicitExpiry { writer.write(expiry.milliseconds) }
        writer.write(prefixed: head.requestMethod.rawValue)
        writer.write(prefixed: head.status.reasonPhrase)
        write(head.selectingFields, to: &writer)
        write(head.fields, to: &writer)
        return writer.octets
    }

    /// Decodes a head read from its place; `nil` when it is damaged, of an unknown version, or belongs elsewhere.
    package static func decode(_ octets: UnsafeRawBufferPointer, binding: HeadBinding) -> StoredResponseHead? {
        guard let content = HeadBinding.verified(octets, seed: binding.seed) else { return nil }
        var reader = OctetReader(content)
        guard reader.read(UInt8.self) == version,
            reader.read(UInt8.self) == HeadBinding.Kind.response.rawValue,
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
        guard let methodName = reader.readPrefixedText(),
            let method = HTTPRequest.Method(methodName),
            let reasonPhrase = reader.readPrefixedText(),
            let selectingFields = readFields(&reader),
            let fields = readFields(&reader),
            reader.remaining == 0
        else { return nil }
        return StoredResponseHead(
            requestMethod: method,
            selectingFields: selectingFields,
            status: HTTPResponse.Status(code: Int(status), reasonPhrase: reasonPhrase),
            fields: fields,
            requestTime: Timestamp(milliseconds: requestTime),
            responseTime: Timestamp(milliseconds: responseTime),
            explicitExpiry: explicitExpiry,
            isInvalidated: flags & invalidatedFlag != 0
        )
    }

    /// Decodes a head read from its place.
    package static func decode(_ octets: [UInt8], binding: HeadBinding) -> StoredResponseHead? {
        octets.withUnsafeBytes { decode($0, binding: binding) }
    }

    private static func write(_ fields: HTTPFields, to writer: inout OctetWriter) {
        writer.write(UInt32(truncatingIfNeeded: fields.count))
        for field in fields {
            writer.write(prefixed: field.name.rawName)
            field.withUnsafeBytesOfValue { writer.write(prefixed: $0) }
        }
    }

    private static func readFields(_ reader: inout OctetReader) -> HTTPFields? {
        // 'HTTPFields' traps at 65,535 of them.
        guard let count = reader.read(UInt32.self), count < 65_535, reader.remaining >= Int(count) * 8 else {
            return nil
        }
        var fields: [HTTPField] = []
        fields.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let rawName = reader.readPrefixedText(), let name = KnownFieldNames.name(rawName),
                let value = reader.readPrefixed()
            else { return nil }
            fields.append(HTTPField(name: name, lenientValue: value))
        }
        return HTTPFields(fields)
    }
}
