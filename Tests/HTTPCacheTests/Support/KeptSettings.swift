import HTTPCache
import HTTPCacheOperations
import Synchronization

/// A store that keeps settings in memory, and fails if it is told to.
final class KeptSettings: TemporaryStore {
    struct Failure: Error {}

    private let kept = Mutex<[String: any Sendable]>([:])
    let fails = Mutex(false)

    /// The value that is kept, whether it fails or not.
    func kept<Value: KeptValue>(_: Value.Type) -> Temporary<Value>? {
        kept.withLock { $0[Value.settingName] as? Temporary<Value> }
    }

    func temporary<Value>(_ type: Value.Type) throws -> Temporary<Value>? {
        if fails.withLock({ $0 }) { throw Failure() }
        return kept(type)
    }

    func keep<Value>(_ temporary: Temporary<Value>) throws {
        if fails.withLock({ $0 }) { throw Failure() }
        kept.withLock { $0[Value.settingName] = temporary }
    }

    func forget<Value: KeptValue>(_ type: Value.Type) throws {
        if fails.withLock({ $0 }) { throw Failure() }
        kept.withLock { $0[Value.settingName] = nil }
    }
}
