import StoreFiles
import Synchronization

/// The number of a store's last invalidation, in memory and in the sidecar.
struct LastInvalidation: ~Copyable, Sendable {
    let value = Atomic<Int64>(0)
    /// `nil` in a process that only reads.
    let sidecar: SequenceSidecar?

    init(sidecar: SequenceSidecar?) {
        self.sidecar = sidecar
    }

    var number: Int64 { value.load(ordering: .acquiring) }

    /// Raises the number, unless it is already higher.
    func raise(to number: Int64) {
        value.store(max(number, self.number), ordering: .releasing)
    }

    /// Records a committed invalidation in the sidecar if it is durable, then raises the number.
    func record(_ number: Int64, isDurable: Bool) throws {
        // Raised even if the sidecar cannot be written: the invalidation is in effect, but not
        // guaranteed.
        defer { raise(to: number) }
        if isDurable { try sidecar?.write(number) }
    }
}
