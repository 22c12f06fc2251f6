/// Decides how often a backup copies new bodies before it takes its snapshot.
///
/// While bodies are copied, a writing process stores more. Each round copies those of the round
/// before, so that few are left for the snapshot, which must be short.
struct BackupRounds {
    /// The maximum number of rounds.
    static let limit = 8
    /// The number of bytes that the snapshot may copy.
    static let enough: Int64 = 16 << 20

    private var count = 0
    private var last = Int64.max

    /// Returns whether another round is due.
    ///
    /// - Parameter bytes: the number of bytes that the last round copied. If it is not less than
    ///   before, the writer is as fast as the copy, and more rounds would not help.
    mutating func isAnotherDue(after bytes: Int64) -> Bool {
        defer { last = bytes }
        count += 1
        return bytes > Self.enough && bytes < last && count < Self.limit
    }
}
