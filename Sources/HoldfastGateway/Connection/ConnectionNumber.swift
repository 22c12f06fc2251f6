import Synchronization

/// Numbers client connections for the log. Each number is used once per process.
enum ConnectionNumber {
    private static let last = Atomic<Int64>(0)

    static func next() -> Int64 { last.add(1, ordering: .relaxed).newValue }
}
