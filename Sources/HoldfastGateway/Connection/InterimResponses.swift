import HTTPTypes
import Synchronization

/// Interim responses on their way to a connection, from whichever thread they come.
///
/// An exchange hands over its interim responses before its final one. From another thread the two
/// can come to the connection by different ways (the loop's queue, a task), and the final one
/// first. So interim responses wait here, and the connection writes them before it writes any final
/// head. RFC 9110 §15.2
final class InterimResponses: Sendable {
    private let waiting = Mutex<[(exchange: UInt64, head: HTTPResponse)]>([])
    /// Nearly always there are none: then nobody takes the lock.
    private let isEmpty = Atomic(true)

    func append(_ head: HTTPResponse, of exchange: UInt64) {
        waiting.withLock { waiting in
            waiting.append((exchange, head))
            isEmpty.store(false, ordering: .releasing)
        }
    }

    /// All that wait and belong to this exchange; those of earlier exchanges are dropped.
    func take(of exchange: UInt64) -> [HTTPResponse] {
        guard !isEmpty.load(ordering: .acquiring) else { return [] }
        return waiting.withLock { waiting in
            defer { waiting = [] }
            isEmpty.store(true, ordering: .releasing)
            return waiting.filter { $0.exchange == exchange }.map(\.head)
        }
    }
}
