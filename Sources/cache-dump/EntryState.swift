import HTTPCacheSemantics
import OfflineStore

/// What an entry is good for at an instant, in one word.
enum EntryState: String, Encodable, CaseIterable {
    /// May be used as it is.
    case fresh
    /// Past its lifetime, and still good when the origin cannot be reached.
    case stale
    /// Past its lifetime, and not to be used without asking the origin.
    case expired
    /// Declared outdated (by a purge, or by a write that went through), and kept for when the
    /// origin cannot be reached.
    case invalidated
    /// Something of it does not fit its checksum: it does not answer any more.
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
        case .fresh: "may be used as it is"
        case .stale: "to be validated first; good when the origin cannot be reached"
        case .expired: "past its time"
        case .invalidated: "declared outdated; kept for when the origin cannot be reached"
        case .damaged: "something of it does not fit its checksum; it answers no more"
        }
    }
}
