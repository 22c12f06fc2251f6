import Synchronization

/// Numbers clients' connections for the log. A number is used once in a process.
enum ConnectionNumber {
    private static let last = Atomic<Int64>(0)

    static func next() -> Int64 { last.add(1, ordering: .relaxed).newValue }
}
