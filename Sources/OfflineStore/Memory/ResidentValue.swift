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

/// An object with its octets.
final class ResidentObject: Sendable {
    let id: Int64
    let storedAt: Timestamp
    let expiresAt: Timestamp
    /// Expired whatever `expiresAt` says.
    let isDistrusted: Bool
    let typeName: String
    let octets: [UInt8]
    /// The values it was decoded as.
    let derived = DerivedValues()

    init(
        id: Int64,
        storedAt: Timestamp,
        expiresAt: Timestamp,
        isDistrusted: Bool,
        typeName: String,
        octets: [UInt8]
    ) {
        self.id = id
        self.storedAt = storedAt
        self.expiresAt = expiresAt
        self.isDistrusted = isDistrusted
        self.typeName = typeName
        self.octets = octets
    }
}

/// A key's value on its way into memory.
struct ResidentEntry: Sendable {
    var key: [UInt8]
    var value: ResidentValue
    var subject: InvalidationSubject
    /// The number of the last invalidation that the value is known to have survived.
    var sequence: Int64

    /// About what it takes in memory, in octets: everything but the values derived from it, which count as they come.
    var cost: Int {
        var octets = MemoryShard.entryOverhead + key.count + 32 + subject.tagHashes.count * 8
        switch value {
        case .responses(let responses):
            for response in responses { octets += response.residentOctets }
        case .object(let object):
            octets += 192 + object.octets.count + object.typeName.utf8.count
        }
        return octets
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
    fileprivate var residentOctets: Int {
        // The variant in its array, its key's own array, and the blocks of content, body and the lists of fields.
        var octets = MemoryLayout<StoredResponse>.stride + key.bytes.count + 512
        if let encoded = head.headFields.encoded {
            // Whether anybody will ask for them is not known: as much as they can come to.
            octets += 64 + 2 * encoded.octets.count + encoded.count * (MemoryLayout<HTTPField>.stride + 96)
        } else {
            octets += Self.octets(of: head.fields)
        }
        octets += Self.octets(of: head.selectingFields)
        // Buffers are allocated in powers of two.
        if let body = content?.body { octets += body.storageCapacity }
        return octets
    }

    private static func octets(of fields: HTTPFields) -> Int {
        fields.reduce(0) { octets, field in
            octets + MemoryLayout<HTTPField>.stride + heapOctets(field.name.rawName.utf8.count)
                + heapOctets(field.value.utf8.count)
        }
    }

    /// A string of up to 15 octets is within its variable.
    private static func heapOctets(_ count: Int) -> Int {
        count <= 15 ? 0 : 48 + count
    }
}
