/// How far a purge has come that is in force at the node that performed it.
///
/// Each level includes those before it.
public enum PurgeLevel: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// It waits in this node's journal, which outlasts a crash.
    case queued
    /// It is in the log that all nodes read.
    case published
    /// As many replicas of the log's server have it as are configured.
    case replicated
    /// It is in force at every node.
    case everywhere

    private var rank: Int {
        switch self {
        case .queued: 0
        case .published: 1
        case .replicated: 2
        case .everywhere: 3
        }
    }

    /// By how much they promise.
    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}
