import HTTPCache

extension EntryState {
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
