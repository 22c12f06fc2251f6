import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import OfflineStore

/// An entry as JSON: the keys of `list --format json`. All keys are always present; a missing value
/// is null.
struct EntryReport: Encodable {
    let entry: StoreEntry
    let state: EntryState
    /// Milliseconds: a response's current age (RFC 9111 §4.2.3). For an object, or a response whose
    /// head cannot be read, the time since it was stored.
    let age: Int64
    /// The time until the entry becomes stale, in milliseconds; negative once it is stale. `nil` if
    /// it never becomes stale.
    let timeToLive: Int64?

    enum CodingKeys: String, CodingKey {
        case id, entry, kind, state, method, url, key, partition, status, contentType, bodyLength
        case storedAt, expiresAt, lastUsedAt, ageSeconds, timeToLiveSeconds
        case usableStale, pinned, vary
    }

    /// - Parameter head: the head of a response, if it can be read.
    init(_ entry: StoreEntry, head: StoredResponseHead?, at now: Timestamp) {
        self.entry = entry
        state = entry.state(at: now)
        age =
            head.map { CachePolicy(kind: .private).currentAge(of: $0, at: now).milliseconds }
            ?? max(0, now.milliseconds(since: entry.storedAt))
        timeToLive = entry.expiresAt.map { $0.milliseconds(since: now) }
    }

    /// A URL with its secrets redacted, or an object's key.
    var name: String {
        if let url = entry.redactedURI { return url }
        return objectKey ?? "(damaged key)"
    }

    /// The key of an object. The application chooses the key, so a key that looks like a URL is
    /// redacted like a URL.
    private var objectKey: String? {
        guard case .object(let key) = entry.key else { return nil }
        return key.contains("://") ? Redaction.uriText(key) : key
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(entry.shortID, forKey: .id)
        try container.encode(entry.id, forKey: .entry)
        try container.encode(entry.kind.rawValue, forKey: .kind)
        try container.encode(state, forKey: .state)
        try container.encode(entry.method?.rawValue, forKey: .method)
        try container.encode(entry.redactedURI, forKey: .url)
        try container.encode(objectKey, forKey: .key)
        try container.encode(entry.partition?.rawValue, forKey: .partition)
        try container.encode(entry.status?.code, forKey: .status)
        try container.encode(entry.contentType, forKey: .contentType)
        try container.encode(entry.bodyLength, forKey: .bodyLength)
        try container.encode(Formatting.date(entry.storedAt), forKey: .storedAt)
        try container.encode(entry.expiresAt.map(Formatting.date), forKey: .expiresAt)
        try container.encode(Formatting.date(entry.lastUsedAt), forKey: .lastUsedAt)
        try container.encode(seconds(age), forKey: .ageSeconds)
        try container.encode(timeToLive.map(seconds), forKey: .timeToLiveSeconds)
        try container.encode(entry.isUsableStale, forKey: .usableStale)
        try container.encode(entry.isPinned, forKey: .pinned)
        try container.encode(entry.selectingNames, forKey: .vary)
    }
}

/// Converts milliseconds to seconds, the unit of durations in JSON.
func seconds(_ milliseconds: Int64) -> Double {
    Double(milliseconds) / 1_000
}

extension CacheManager {
    /// Returns a report on an entry, including the data from its head.
    func report(_ entry: StoreEntry, at now: Timestamp) async throws -> EntryReport {
        let head = entry.kind == .response ? try await response(of: entry)?.head : nil
        return EntryReport(entry, head: head, at: now)
    }
}
