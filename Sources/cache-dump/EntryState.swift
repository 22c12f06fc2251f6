import HTTPCache
import HTTPCacheOperations

extension EntryState {
    var explanation: String {
        switch self {
        case .fresh: "may be served without validation"
        case .stale: "validated before use; usable if the origin is unreachable"
        case .expired: "past its lifetime"
        case .invalidated:
            "validated before use; usable if the origin is unreachable, unless a directive or an unsafe request forbids it"
        case .damaged: "a checksum does not match; no longer served"
        }
    }
}
