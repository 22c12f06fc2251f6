import NIOCore

/// Counts the wrong tokens of each address.
///
/// It limits nothing but the number of refusals that say why: a right token is accepted whatever
/// came before, so that a stranger behind the same proxy or NAT keeps no operator out. The length
/// of a token makes guessing hopeless (``ControlToken/leastBytes``).
///
/// It is bounded: beyond 1,000 addresses the one that failed longest ago is forgotten.
struct FailedTries {
    /// The most failed tries of an address within ``window``.
    static let limit = 5
    static let window = TimeAmount.minutes(1)
    static let maximumAddresses = 1000

    /// The instants of the last failures of each address, oldest first, at most ``limit``.
    private var failures: [ClientNetwork: [NIODeadline]] = [:]

    var count: Int { failures.count }

    /// The seconds for which an address has failed too often; `nil` if it has not.
    func wait(of address: String, at now: NIODeadline) -> Int? {
        guard let instants = failures[ClientNetwork(address)], instants.count == Self.limit, let first = instants.first
        else { return nil }
        let rest = first + Self.window - now
        return rest > .zero ? Int((rest.nanoseconds + 999_999_999) / 1_000_000_000) : nil
    }

    /// Counts a failed try.
    mutating func record(_ address: String, at now: NIODeadline) {
        let key = ClientNetwork(address)
        if failures[key] == nil, failures.count >= Self.maximumAddresses { makeRoom(at: now) }
        failures[key, default: []].append(now)
        if let count = failures[key]?.count, count > Self.limit { failures[key]?.removeFirst() }
    }

    private mutating func makeRoom(at now: NIODeadline) {
        failures = failures.filter { ($0.value.last ?? now) + Self.window > now }
        guard failures.count >= Self.maximumAddresses else { return }
        let oldest = failures.min { ($0.value.last ?? now) < ($1.value.last ?? now) }
        if let oldest { failures[oldest.key] = nil }
    }
}
