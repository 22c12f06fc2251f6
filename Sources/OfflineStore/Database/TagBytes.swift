/// The changes that a transaction makes to tags' byte sums, collected so that each tag's row is
/// written once.
struct TagBytes {
    private var sums: [Int64: Int64] = [:]

    var isEmpty: Bool { sums.isEmpty }

    mutating func add(_ bytes: Int64, to tagID: Int64) { sums[tagID, default: 0] += bytes }

    /// Drops the sum of a removed tag, because its number may be reused.
    mutating func forget(_ tagID: Int64) { sums[tagID] = nil }
    mutating func forgetAll() { sums = [:] }

    /// Returns and clears the sum of each tag, in the order of tag numbers.
    mutating func take() -> [(tagID: Int64, bytes: Int64)] {
        defer { sums = [:] }
        return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
