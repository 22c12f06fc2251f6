/// The changes that a transaction makes to the sums of bytes of tags, collected so that each tag's
/// row is written once.
struct TagBytes {
    private var sums: [Int64: Int64] = [:]

    var isEmpty: Bool { sums.isEmpty }

    mutating func add(_ bytes: Int64, to tagID: Int64) { sums[tagID, default: 0] += bytes }

    /// Drops the sum of a tag that is gone, because its number may be reused.
    mutating func forget(_ tagID: Int64) { sums[tagID] = nil }
    mutating func forgetAll() { sums = [:] }

    /// Returns the sum of each tag, in the order of their numbers, and clears them.
    mutating func take() -> [(tagID: Int64, bytes: Int64)] {
        defer { sums = [:] }
        return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
