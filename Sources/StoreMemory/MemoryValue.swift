package import HTTPCache
package import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// A key's value in memory.
package enum MemoryValue: Sendable {
    /// All variants of a key.
    case responses([StoredResponse])
    case object(LoadedObject)
}

/// An object with its bytes, read from disk or found in the memory tier.
package final class LoadedObject: Sendable {
    package let id: Int64
    package let storedAt: Timestamp
    package let expiresAt: Timestamp
    /// Whether it is expired regardless of `expiresAt`.
    package let isDistrusted: Bool
    package let typeName: String
    package let bytes: [UInt8]
    /// The values decoded from the object.
    package let derived = DerivedValues()

    package init(
        id: Int64,
        storedAt: Timestamp,
        expiresAt: Timestamp,
        isDistrusted: Bool,
        typeName: String,
        bytes: [UInt8]
    ) {
        self.id = id
        self.storedAt = storedAt
        self.expiresAt = expiresAt
        self.isDistrusted = isDistrusted
        self.typeName = typeName
        self.bytes = bytes
    }
}

/// The value of one key, with the data that the memory tier and pending writes need.
package struct MemoryEntry: Sendable {
    package var key: [UInt8]
    package var value: MemoryValue
    package var subject: InvalidationSubject
    /// The number of the last invalidation that is known not to affect the value.
    package var sequence: Int64

    package init(key: [UInt8], value: MemoryValue, subject: InvalidationSubject, sequence: Int64) {
        self.key = key
        self.value = value
        self.subject = subject
        self.sequence = sequence
    }

    /// The value's approximate size in memory, in bytes. Derived values are not included; their
    /// sizes are added when they are created.
    var cost: Int {
        var bytes = MemoryShard.entryOverhead + key.count + 32 + subject.tagHashes.count * 8
        switch value {
        case .responses(let responses):
            for response in responses { bytes += response.residentBytes }
        case .object(let object):
            bytes += 192 + object.bytes.count + object.typeName.utf8.count
        }
        return bytes
    }

    /// The values derived from the value.
    var derived: [DerivedValues] {
        switch value {
        case .responses(let responses): responses.compactMap { $0.content?.derived }
        case .object(let object): [object.derived]
        }
    }
}

extension StoredResponse {
    /// The response's approximate size in memory, in bytes: its head, content and bookkeeping.
    fileprivate var residentBytes: Int {
        // The variant in its array, its key's array, and the heap blocks of content, body and field
        // lists.
        var bytes = MemoryLayout<StoredResponse>.stride + key.bytes.count + 512
        if let encoded = head.headFields.encoded {
            // Decoded fields may or may not be requested later, so assume their maximum size.
            bytes += 64 + 2 * encoded.bytes.count + encoded.count * (MemoryLayout<HTTPField>.stride + 96)
        } else {
            bytes += Self.bytes(of: head.fields)
        }
        bytes += Self.bytes(of: head.selectingFields)
        // Buffers are allocated in powers of two.
        if let body = content?.body { bytes += body.storageCapacity }
        return bytes
    }

    private static func bytes(of fields: HTTPFields) -> Int {
        fields.reduce(0) { bytes, field in
            bytes + MemoryLayout<HTTPField>.stride + heapBytes(field.name.rawName.utf8.count)
                + heapBytes(field.value.utf8.count)
        }
    }

    /// A string of up to 15 bytes needs no heap block.
    private static func heapBytes(_ count: Int) -> Int {
        count <= 15 ? 0 : 48 + count
    }
}

extension MemoryEntry {
    package init(_ object: LoadedObject, key: [UInt8], hash: Int64, sequence: Int64) {
        self.init(
            key: key,
            value: .object(object),
            subject: InvalidationSubject(keyHash: hash, targetHash: hash),
            sequence: sequence
        )
    }
}
