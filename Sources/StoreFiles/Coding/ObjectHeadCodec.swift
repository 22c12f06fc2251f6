import HTTPCache

/// The data kept with a Codable object's bytes.
package struct ObjectHead: Sendable, Hashable {
    /// The coder's media type.
    package var contentType: String
    /// The name of the Swift type that the object was encoded from. It is only used in messages.
    package var typeName: String

    package init(contentType: String, typeName: String) {
        self.contentType = contentType
        self.typeName = typeName
    }
}

/// The encoding of an object's head on disk, which is structured like that of ``StoredHeadCodec``.
package enum ObjectHeadCodec {
    /// The version of the encoding; the first byte.
    package static let version: UInt8 = 1

    /// Encodes a head for its row.
    package static func encode(_ head: ObjectHead, binding: HeadBinding) -> [UInt8] {
        binding.sealing(content(of: head))
    }

    /// Encodes the part of a head that does not depend on its row.
    package static func content(of head: ObjectHead) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 64)
        writer.write(version)
        writer.write(HeadBinding.Kind.object.rawValue)
        writer.write(prefixed: head.contentType)
        writer.write(prefixed: head.typeName)
        return writer.bytes
    }

    /// Decodes a head that was read from its row; returns `nil` if the head is damaged, is of an
    /// unknown version, or belongs to another row.
    package static func decode(_ bytes: UnsafeRawBufferPointer, binding: HeadBinding) -> ObjectHead? {
        guard let content = HeadBinding.verified(bytes, seed: binding.seed) else { return nil }
        var reader = ByteReader(content)
        guard reader.read(UInt8.self) == version,
            reader.read(UInt8.self) == HeadBinding.Kind.object.rawValue,
            let contentType = reader.readPrefixedText(),
            let typeName = reader.readPrefixedText(),
            reader.remaining == 0
        else { return nil }
        return ObjectHead(contentType: contentType, typeName: typeName)
    }
}
