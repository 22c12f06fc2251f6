import Synchronization

/// A number that several tasks add to.
final class Counter: Sendable {
    private let number = Atomic(0)
    var value: Int { number.load(ordering: .relaxed) }
    func add(_ amount: Int) { number.add(amount, ordering: .relaxed) }
    /// Adds one, and returns the number before.
    func next() -> Int { number.add(1, ordering: .relaxed).oldValue }
}

extension [UInt8] {
    func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
