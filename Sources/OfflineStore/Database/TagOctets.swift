/// What a transaction changes about the octets under each tag, gathered so that each tag's row is written once.
///
/// Kept as a list and not summed up at once: an operation that fails takes back what it added by shortening it.
struct TagOctets {
    private enum Step {
        case add(tagID: Int64, octets: Int64)
        /// The tag is gone, and its number may be given to another one.
        case forget(tagID: Int64)
        case forgetAll
    }

    private var steps: [Step] = []

    var isEmpty: Bool { steps.isEmpty }

    /// How far it has come, to go back to.
    var count: Int { steps.count }

    mutating func add(_ octets: Int64, to tagID: Int64) {
        if octets != 0 { steps.append(.add(tagID: tagID, octets: octets)) }
    }

    mutating func forget(_ tagID: Int64) { steps.append(.forget(tagID: tagID)) }
    mutating func forgetAll() { steps = steps.isEmpty ? [] : steps + [.forgetAll] }

    mutating func removeAll(after count: Int) { steps.removeLast(steps.count - count) }

    /// The sum for each tag, in the order of their numbers; afterwards there is nothing left.
    mutating func take() -> [(tagID: Int64, octets: Int64)] {
        var sums: [Int64: Int64] = [:]
        for step in steps {
            switch step {
            case .add(let tagID, let octets): sums[tagID, default: 0] += octets
            case .forget(let tagID): sums[tagID] = nil
            case .forgetAll: sums = [:]
            }
        }
        steps = []
        return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
