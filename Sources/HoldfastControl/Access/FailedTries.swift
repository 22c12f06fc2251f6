import NIOCore

/// Counts the wrong tokens from each client network.
///
/// After too many failed attempts, a wrong token gets status 429 instead of 401. A valid token is
/// always accepted, so a stranger behind the same proxy or NAT cannot lock an operator out. Tokens
/// are too long to guess (``ControlToken/leastBytes``).
///
/// At most 1,000 networks are tracked. To make room, the network whose last failure is oldest is
/// dropped.
struct FailedTries {
    /// The maximum number of failed attempts from one network within ``window``.
    static let limit = 5
    static let window = TimeAmount.minutes(1)
    static let maximumAddresses = 1000

    /// The last failures of each network, oldest first, at most ``limit``.
    private var failures: [ClientNetwork: [NIODeadline]] = [:]

    var count: Int { failures.count }

    /// Returns the seconds until the address's network is below the limit again, or `nil` if it has
    /// not reached the limit.
    func wait(of address: String, at now: NIODeadline) -> Int? {
        guard let instants = failures[ClientNetwork(address)], instants.count == Self.limit, let first = instants.first
        else { return nil }
        let rest = first + Self.window - now
        return rest > .zero ? Int((rest.nanoseconds + 999_999_999) / 1_000_000_000) : nil
    }

    /// Counts a failed attempt.
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
