import HTTPCache
import Synchronization

/// What is on its way into the database: readers of this process see it before it is committed.
///
/// A value is here from the moment it is handed to the writer until its transaction has ended, whatever the end. One that an invalidation
/// came after is not shown: whether it is stored is decided in its transaction.
final class PendingWrites: Sendable {
    private struct Pending {
        var token: Int64
        var entry: ResidentEntry
    }

    private let pending = Mutex<[Int64: [Pending]]>([:])
    /// So that nobody takes the lock while nothing is being written.
    private let count = Atomic(0)

    /// - Parameter token: tells it from others under its key.
    func add(_ entry: ResidentEntry, hash: Int64, token: Int64) {
        pending.withLock { $0[hash, default: []].append(Pending(token: token, entry: entry)) }
        count.add(1, ordering: .releasing)
    }

    func remove(hash: Int64, token: Int64) {
        let gone = pending.withLock { pending -> [Pending] in
            guard let all = pending[hash] else { return [] }
            let rest = all.filter { $0.token != token }
            pending[hash] = rest.isEmpty ? nil : rest
            return all
        }
        withExtendedLifetime(gone) {}
        count.subtract(1, ordering: .releasing)
    }

    /// What is being written under a key, in the order in which it came.
    ///
    /// - Parameter sequence: the number of the last invalidation.
    func values(_ key: [UInt8], hash: Int64, sequence: Int64) -> [ResidentValue] {
        guard count.load(ordering: .acquiring) > 0 else { return [] }
        return pending.withLock { pending in
            (pending[hash] ?? []).filter { $0.entry.sequence == sequence && $0.entry.key == key }.map(\.entry.value)
        }
    }

    /// The responses of a key with those that are being written, each in place of the variant that it will replace.
    func merged(_ responses: [StoredResponse], with values: [ResidentValue]) -> [StoredResponse] {
        var merged = responses
        for case .responses(let written) in values {
            for response in written {
                let variant = VariantKey.octets(of: response.head)
                merged.removeAll { VariantKey.octets(of: $0.head) == variant }
                merged.append(response)
            }
        }
        return merged
    }
}
