import HTTPCache
public import HTTPCacheSemantics
public import HTTPTypes

/// What is known of one stored thing without reading its body.
public struct StoreEntry: Sendable, Hashable, Identifiable {
    /// What was stored.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A raw response.
        case response
        /// A Codable object.
        case object
    }

    /// The key it is stored under. Objects' keys are compared by their bytes.
    public enum Key: Sendable {
        /// A response's key. It may hold secrets in its query: show ``StoreEntry/redactedURI``
        /// instead.
        case response(CacheKey)
        /// An object's key.
        case object(String)
    }

    /// Whose it is, without saying who.
    public enum Partition: String, Sendable, Hashable {
        /// Everybody's.
        case shared
        /// A named principal's.
        case principal
        /// That of a request's credentials.
        case credentials
    }

    /// The store's number for it; never used twice in one store.
    public let id: Int64
    /// 16 hexadecimal digits, the same for as long as the store lives.
    ///
    /// Variants of one key share them.
    public let shortID: String
    /// What was stored.
    public let kind: Kind
    /// Its key; `nil` when that is damaged.
    public let key: Key?
    /// The request's method; `nil` for objects.
    public let method: HTTPRequest.Method?
    /// The target URI with its secrets replaced; `nil` for objects.
    public let redactedURI: String?
    /// Whose it is; `nil` for objects.
    public let partition: Partition?
    /// The response's status; `nil` for objects.
    public let status: HTTPResponse.Status?
    /// The media type, where there is one.
    public let contentType: String?
    /// Bytes in the body.
    public let bodyLength: Int64
    /// When it was first stored.
    public let storedAt: Timestamp
    /// The first instant at which it is stale, or no longer live; `nil` when never.
    public let expiresAt: Timestamp?
    /// When it was stored, or renewed since: what its expiry counts from.
    private let receivedAt: Timestamp
    /// Whether it may be used, stale, when the origin cannot be reached.
    ///
    /// Always for objects.
    public let isUsableStale: Bool
    /// Whether it was invalidated and kept for offline use.
    public var isInvalidated: Bool { invalidation != nil }
    /// Why it was invalidated; `nil` where it was not.
    public let invalidation: InvalidationCause?
    /// Whether it is kept from eviction.
    public let isPinned: Bool
    /// When it was last used, as far as that is on disk.
    ///
    /// Uses are kept in memory, and written when the store is closed or when eviction passes the
    /// entry over.
    public let lastUsedAt: Timestamp
    /// The names of the request fields that `Vary` selects by, in lower case and sorted.
    public let selectingNames: [String]
    /// Whether something of it was found to be damaged, so that it does not answer any more.
    public let isDamaged: Bool

    /// Whether it is stale, or no longer live, at an instant.
    ///
    /// So is what was stored while the clock was ahead of that instant, unless it never expires.
    public func isExpired(at now: Timestamp) -> Bool {
        isInvalidated || expiresAt.map { $0.isOver(at: now, storedAt: receivedAt) } ?? false
    }

    init(_ record: EntryRecord) {
        id = record.id
        shortID = Self.shortID(record.keyHash)
        bodyLength = record.bodyLength
        storedAt = record.storedAt
        expiresAt = record.expiresAt == .distantFuture ? nil : record.expiresAt
        isUsableStale = record.isUsableStale
        isPinned = record.isPinned
        lastUsedAt = record.lastUsedAt
        switch record.kind {
        case .response:
            kind = .response
            let cacheKey = CacheKey(bytes: record.key)
            let components = cacheKey?.components
            let response = record.response
            receivedAt = response?.head.responseTime ?? record.storedAt
            key = cacheKey.map(Key.response)
            method = components?.method
            redactedURI = components?.target.redacted
            partition =
                switch components?.partition {
                case .shared: .shared
                case .principal: .principal
                case .credentials: .credentials
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

    static func shortID(_ keyHash: Int64) -> String {
        let digits = String(UInt64(bitPattern: keyHash), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The key hashes that begin with some digits; `nil` when they are not 1 to 16 hexadecimal
    /// ones.
    static func keyHashes(withPrefix prefix: String) -> ClosedRange<Int64>? {
        guard (1...16).contains(prefix.utf8.count), let value = UInt64(prefix, radix: 16), !prefix.hasPrefix("+") else {
            return nil
        }
        let shift = UInt64(16 - prefix.utf8.count) * 4
        let first = value << shift
        let last = first | (shift == 0 ? 0 : (1 << shift) - 1)
        // The first digit fixes the sign, so the order of the signed numbers is that of the
        // unsigned ones here.
        return Int64(bitPattern: first)...Int64(bitPattern: last)
    }
}

extension StoreEntry.Key: Hashable {
    /// Whether both are the same key.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.response(let one), .response(let another)): one == another
        case (.object(let one), .object(let another)): one.hasSameBytes(as: another)
        case (.response, _), (.object, _): false
        }
    }

    /// Adds what equal ones have in common.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .response(let key): hasher.combine(key)
        case .object(let key): hasher.combine(bytesOf: key)
        }
    }
}
