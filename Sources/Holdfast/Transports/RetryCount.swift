import Synchronization

/// The number of retries of one call's request, for any reason.
final class RetryCount: Sendable {
    private let retries = Atomic(0)

    var value: Int { retries.load(ordering: .relaxed) }

    func increment() { retries.add(1, ordering: .relaxed) }
}
