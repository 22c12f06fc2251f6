import Synchronization

/// Counts the failures that `GET /flaky` has already given under each name.
final class FlakyCounter: Sendable {
    static let maximumNames = 1_000

    private let failures = Mutex<[String: Int]>([:])

    /// Returns whether the next request under `name` fails, if the first `count` requests are to
    /// fail. Counts the failure.
    func nextFails(name: String, first count: Int) -> Bool {
        failures.withLock { failures in
            let given = failures[name] ?? 0
            guard given < count, given > 0 || failures.count < Self.maximumNames else { return false }
            failures[name] = given + 1
            return true
        }
    }

    func reset() {
        failures.withLock { $0.removeAll() }
    }
}
