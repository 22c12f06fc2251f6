package import HTTPCacheSemantics
import Synchronization

/// The reason that a response was not stored, if that is known only after its head was delivered.
package final class LateRefusal: Sendable {
    private let noted = Mutex<StorageRefusal?>(nil)

    package init() {}

    /// The reason; `nil` if there is none so far.
    package var refusal: StorageRefusal? { noted.withLock { $0 } }

    /// Keeps the first reason.
    func note(_ refusal: StorageRefusal) { noted.withLock { $0 = $0 ?? refusal } }
}
