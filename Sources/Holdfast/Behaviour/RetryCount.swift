import Synchronization

/// How often one call's request was sent again, for whatever reason.
final class RetryCount: Sendable {
    private let retries = Atomic(0)

    var value: Int { retries.load(ordering: .relaxed) }

    func increment() { retries.add(1, ordering: .relaxed) }
}
