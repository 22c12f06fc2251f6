import Synchronization

/// Counts the attempts for each key, for routes that behave differently the first few times.
final class AttemptCounter: Sendable {
    static let maximumKeys = 1_000

    private let attempts = Mutex<[String: Int]>([:])

    /// Counts an attempt and returns how many there were before it.
    ///
    /// Keys beyond the limit are not counted. All of their attempts are treated as late attempts,
    /// which succeed.
    func begin(key: String) -> Int {
        attempts.withLock { attempts in
            guard let earlier = attempts[key] ?? (attempts.count < Self.maximumKeys ? 0 : nil) else { return .max }
            attempts[key] = earlier + 1
            return earlier
        }
    }

    /// Returns the number of attempts.
    func count(key: String) -> Int {
        attempts.withLock { $0[key] ?? 0 }
    }

    func reset() {
        attempts.withLock { $0.removeAll() }
    }
}
