/// The leaf certificates of a run as a value: which exist, and which may be signed now.
///
/// The command can ask for any number of hosts, so certificates, waiting hosts and the rate of
/// signing have limits. ``LeafIssuer`` performs the decisions.
package struct LeafIssuance: Sendable {
    /// The decision about a host.
    package enum Decision: Sendable, Hashable {
        /// The certificate, in DER.
        case issued([UInt8])
        /// Sign a certificate, then call ``finish(_:_:)``.
        case sign
        /// A certificate for this host is being signed.
        case wait
        /// Too many certificates were signed recently.
        case refuse
    }

    private struct Leaf {
        let bytes: [UInt8]
        /// A number that grows with each use.
        var use: UInt64
    }

    /// The maximum number of certificates that are kept: 1,000. The one that was used longest ago
    /// is dropped.
    package static let maximumLeaves = 1000
    /// The maximum number of hosts whose certificates are being signed: 64
    package static let maximumPending = 64
    /// The maximum number of signatures per second: 100
    package static let rate: Int64 = 100
    /// The number of signatures that may exceed the rate for a moment: 400
    package static let burst: Int64 = 400

    private var leaves: [LeafName: Leaf] = [:]
    private var pending: Set<LeafName> = []
    private var uses: UInt64 = 0
    /// The signatures that are available, in thousandths.
    private var tokens = burst * 1000
    /// The time of the last signature, in milliseconds; `nil` before the first.
    private var last: Int64?

    package init() {}

    /// The number of certificates that are kept.
    package var count: Int { leaves.count }

    /// Decides about a host.
    ///
    /// - Parameter now: a time in milliseconds that never goes back.
    package mutating func request(_ name: LeafName, at now: Int64) -> Decision {
        uses += 1
        if let leaf = leaves[name] {
            leaves[name]?.use = uses
            return .issued(leaf.bytes)
        }
        guard !pending.contains(name) else { return .wait }
        refill(at: now)
        guard pending.count < Self.maximumPending, tokens >= 1000 else { return .refuse }
        tokens -= 1000
        pending.insert(name)
        return .sign
    }

    /// Takes a signed certificate.
    ///
    /// - Parameter bytes: `nil` if signing failed.
    package mutating func finish(_ name: LeafName, _ bytes: [UInt8]?) {
        guard pending.remove(name) != nil, let bytes else { return }
        if leaves.count >= Self.maximumLeaves, let oldest = leaves.min(by: { $0.value.use < $1.value.use }) {
            leaves[oldest.key] = nil
        }
        uses += 1
        leaves[name] = Leaf(bytes: bytes, use: uses)
    }

    /// A millisecond is worth a thousandth of a second's signatures.
    private mutating func refill(at now: Int64) {
        let now = max(now, 0)
        guard let last else { return self.last = now }
        guard now > last else { return }
        self.last = now
        let time = min(now - last, 1000 * Self.burst / Self.rate)
        tokens = min(Self.burst * 1000, tokens + time * Self.rate)
    }
}
