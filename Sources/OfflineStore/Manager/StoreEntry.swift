import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes
import StoreFiles

/// One stored response or object, described without reading its body.
package struct StoreEntry: Sendable, Hashable, Identifiable {
    /// The kind of a stored entry.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A raw response.
        case response
        /// A Codable object.
        case object
    }

    /// The key of an entry. Objects' keys are compared by their bytes.
    package enum Key: Sendable {
        /// A response's key. Its query may contain secrets: show ``StoreEntry/redactedURI``
        /// instead.
        case response(StoreKey)
        /// An object's key.
        case object(String)
    }

    /// The kind of partition that an entry belongs to, without its name.
    package enum Partition: String, Sendable, Hashable {
        /// The partition that all requests share.
        case common
        /// The partition of a named principal.
        case principal
        /// The partition of a request's credentials.
        case credentials
        /// The partition of a recorded job.
        case job
    }

    /// The store's number for the entry. A store never reuses a number.
    package let id: Int64
    /// 16 hexadecimal digits that stay the same while the store exists.
    ///
    /// All variants of a key have the same digits.
    package let shortID: String
    /// Whether it is a response or an object.
    package let kind: Kind
    /// Its key; `nil` if the key is damaged.
    package let key: Key?
    /// The request's method; `nil` for objects.
    package let method: HTTPRequest.Method?
    /// The target URI with its secrets replaced; `nil` for objects.
    package let redactedURI: String?
    /// The kind of its partition; `nil` for objects.
    package let partition: Partition?
    /// The response's status; `nil` for objects.
    package let status: HTTPResponse.Status?
    /// The media type; `nil` if it has none.
    package let contentType: String?
    /// The length of the body, in bytes.
    package let bodyLength: Int64
    /// When it was first stored.
    package let storedAt: Timestamp
    /// The first instant at which it is stale, or no longer live; `nil` if it never expires.
    package let expiresAt: Timestamp?
    /// When the entry was stored or last renewed. Whether it has expired also depends on this time.
    private let receivedAt: Timestamp
    /// Whether it may be served stale when the origin is unreachable.
    ///
    /// Always true for objects.
    package let isUsableStale: Bool
    /// Whether it was invalidated and must be validated before use. While the origin is
    /// unreachable, it may still be served, unless an unsafe request invalidated it.
    package var isInvalidated: Bool { invalidation != nil }
    /// The cause of its invalidation; `nil` if it was not invalidated.
    package let invalidation: InvalidationCause?
    /// Whether it is pinned, so that it is never evicted.
    package let isPinned: Bool
    /// When it was last used, as recorded on disk.
    ///
    /// Uses are recorded in memory. They are written when the store is closed, or when eviction
    /// passes over the entry.
    package let lastUsedAt: Timestamp
    /// The names of the request fields that `Vary` selects by, in lowercase and sorted.
    package let selectingNames: [String]
    /// Whether part of it was found to be damaged, so that it is no longer served.
    package let isDamaged: Bool

    /// Returns whether it is stale, or no longer live, at an instant.
    ///
    /// An entry stored while the clock was ahead of that instant is expired, unless it never
    /// expires.
    package func isExpired(at now: Timestamp) -> Bool {
        isInvalidated || expiresAt.map { $0.isOver(at: now, storedAt: receivedAt) } ?? false
    }

    /// - Parameter rules: decide the expiry and stale use of a response; `nil` for the rules that
    ///   were in force when it was stored.
    init(_ record: EntryRecord, under rules: RulesInForce? = nil) {
        id = record.id
        shortID = Self.shortID(record.keyHash)
        bodyLength = record.bodyLength
        storedAt = record.storedAt
        isPinned = record.isPinned
        lastUsedAt = record.lastUsedAt
        switch record.kind {
        case .response:
            kind = .response
            let cacheKey = StoreKey(bytes: record.key)
            let components = cacheKey?.components
            let response = record.response
            let use = response.flatMap { rules?.use(of: $0) }
            expiresAt = (use?.freshUntil ?? record.expiresAt).ifAny
            isUsableStale = use?.isUsableStale ?? record.isUsableStale
            receivedAt = response?.head.responseTime ?? record.storedAt
            key = cacheKey.map(Key.response)
            method = components?.method
            redactedURI = components?.target.redacted
            partition =
                switch components?.partition {
                case .common: .common
                case .principal: .principal
                case .credentials: .credentials
                case .job: .job
                case nil: nil
                }
            status = response?.head.status
            contentType = response?.head.fields[.contentType]
            selectingNames = response.map { VariantKey.names(of: $0.head) } ?? []
            invalidation = response.map { $0.head.invalidation } ?? record.invalidation
            isDamaged = response == nil || record.isDamaged
        case .object:
            kind = .object
            let head = record.objectHead
            expiresAt = record.expiresAt.ifAny
            isUsableStale = record.isUsableStale
            receivedAt = record.storedAt
            key = String(validating: record.key, as: UTF8.self).map(Key.object)
            method = nil
            redactedURI = nil
            partition = nil
            status = nil
            contentType = head?.contentType
            selectingNames = []
            invalidation = record.invalidation
            isDamaged = head == nil || record.isDamaged
        }
    }

    package static func shortID(_ keyHash: Int64) -> String {
        let digits = String(UInt64(bitPattern: keyHash), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the range of key hashes that begin with a prefix; `nil` if the prefix is not 1 to 16
    /// hexadecimal digits.
    static func keyHashes(withPrefix prefix: String) -> ClosedRange<Int64>? {
        guard (1...16).contains(prefix.utf8.count), let value = UInt64(prefix, radix: 16), !prefix.hasPrefix("+") else {
            return nil
        }
        let shift = UInt64(16 - prefix.utf8.count) * 4
        let first = value << shift
        let last = first | (shift == 0 ? 0 : (1 << shift) - 1)
        // The first digit fixes the sign, so these numbers have the same order as signed and as
        // unsigned integers.
        return Int64(bitPattern: first)...Int64(bitPattern: last)
    }
}

extension Timestamp {
    /// The instant; `nil` if it never arrives.
    fileprivate var ifAny: Timestamp? { self == .distantFuture ? nil : self }
}

extension StoreEntry.Key: Hashable {
    /// Returns whether both are the same key.
    package static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.response(let one), .response(let another)): one == another
        case (.object(let one), .object(let another)): one.hasSameBytes(as: another)
        case (.response, _), (.object, _): false
        }
    }

    /// Feeds the key's bytes into the hasher.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .response(let key): hasher.combine(key)
        case .object(let key): hasher.combine(bytesOf: key)
        }
    }
}
