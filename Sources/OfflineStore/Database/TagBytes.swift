/// What a transaction changes about the bytes under each tag, gathered so that each tag's row is
/// written once.
struct TagBytes {
    private var sums: [Int64: Int64] = [:]

    var isEmpty: Bool { sums.isEmpty }

    mutating func add(_ bytes: Int64, to tagID: Int64) { sums[tagID, default: 0] += bytes }

    /// The tag is gone, and its number may be given to another one.
    mutating func forget(_ tagID: Int64) { sums[tagID] = nil }
    mutating func forgetAll() { sums = [:] }

    /// The sum for each tag, in the order of their numbers; afterwards there is nothing left.
    mutating func take() -> [(tagID: Int64, bytes: Int64)] {
        defer { sums = [:] }
        return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
