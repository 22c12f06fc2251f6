import NIOCore
import Synchronization

/// A monotonic clock that a test moves.
final class ManualInstant: Sendable {
    private let instant = Mutex(NIODeadline.uptimeNanoseconds(1_000_000_000_000))

    var now: NIODeadline { instant.withLock { $0 } }

    func advance(_ amount: TimeAmount) { instant.withLock { $0 = $0 + amount } }
}
