import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// What is in memory under one key.
enum ResidentValue: Sendable {
    /// All variants of a key.
    case responses([StoredResponse])
    case object(ResidentObject)
}

/// An object with its bytes.
final class ResidentObject: Sendable {
    let id: Int64
    let storedAt: Timestamp
    let expiresAt: Timestamp
    /// Expired whatever `expiresAt` says.
    let isDistrusted: Bool
    let typeName: String
    let bytes: [UInt8]
    /// The values it was decoded as.
    let derived = DerivedValues()

    init(
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

/// A key's value on its way into memory.
struct ResidentEntry: Sendable {
    var key: [UInt8]
    var value: ResidentValue
    var subject: InvalidationSubject
    /// The number of the last invalidation that the value is known to have survived.
    var sequence: Int64

    /// About what it takes in memory, in bytes: everything but the values derived from it, which
    /// count as they come.
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

    /// The values derived from it.
    var derived: [DerivedValues] {
        switch value {
        case .responses(let responses): responses.compactMap { $0.content?.derived }
        case .object(let object): [object.derived]
        }
    }
}

extension StoredResponse {
    /// About what it takes in memory: head, content, and what holds them.
    fileprivate var residentBytes: Int {
        // The variant in its array, its key's own array, and the blocks of content, body and the
        // lists of fields.
        var bytes = MemoryLayout<StoredResponse>.stride + key.bytes.count + 512
        if let encoded = head.headFields.encoded {
            // Whether anybody will ask for them is not known: as much as they can come to.
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

    /// A string of up to 15 bytes is within its variable.
    private static func heapBytes(_ count: Int) -> Int {
        count <= 15 ? 0 : 48 + count
    }
}
