import HTTPCacheSemantics
import OfflineStore

/// The state of an entry at an instant, in one word.
enum EntryState: String, Encodable, CaseIterable {
    /// May be used as it is.
    case fresh
    /// Past its lifetime, and still good when the origin cannot be reached.
    case stale
    /// Past its lifetime, and not usable without validation by the origin.
    case expired
    /// Invalidated by a purge or a successful write, and kept for when the origin is unreachable.
    case invalidated
    /// A part of it does not match its checksum: it is not served any more.
    case damaged

    init(_ entry: StoreEntry, at now: Timestamp) {
        if entry.isDamaged {
            self = .damaged
        } else if entry.isInvalidated {
            self = .invalidated
        } else if !entry.isExpired(at: now) {
            self = .fresh
        } else {
            self = entry.kind == .response && entry.isUsableStale ? .stale : .expired
        }
    }

    var explanation: String {
        switch self {
        case .fresh: "may be served without validation"
        case .stale: "to be validated first; usable when the origin is unreachable"
        case .expired: "past its lifetime"
        case .invalidated: "declared outdated; kept for when the origin is unreachable"
        case .damaged: "a part does not match its checksum; it is not served any more"
        }
    }
}
