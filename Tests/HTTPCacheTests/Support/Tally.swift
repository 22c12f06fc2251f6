import Synchronization

/// A number that concurrent tasks count up.
final class Tally: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .sequentiallyConsistent) }

    /// - Returns: the number before it was changed.
    @discardableResult
    func add(_ number: Int = 1) -> Int { value.add(number, ordering: .sequentiallyConsistent).oldValue }
}
