/// The extent to which a purge that is in force on one node has spread.
///
/// Each level includes all previous levels.
package enum PurgeLevel: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// The purge is in this node's journal, which survives a crash.
    case queued
    /// The purge is in the log that all nodes read.
    case published
    /// The configured number of the log's replicas have the purge.
    case replicated
    /// The purge is in force on every node.
    case everywhere

    private var rank: Int {
        switch self {
        case .queued: 0
        case .published: 1
        case .replicated: 2
        case .everywhere: 3
        }
    }

    /// Returns whether the first level promises less.
    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}
