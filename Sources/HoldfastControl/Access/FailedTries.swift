import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Limits how often an address may present a wrong token.
///
/// It is bounded: beyond 1,000 addresses the one that failed longest ago is forgotten.
struct FailedTries {
    /// The most failed tries of an address within ``window``.
    static let limit = 5
    static let window = TimeAmount.minutes(1)
    static let maximumAddresses = 1000

    /// The instants of the last failures of each address, oldest first, at most ``limit``.
    private var failures: [String: [NIODeadline]] = [:]

    var count: Int { failures.count }

    /// The seconds after which an address may try again; `nil` if it may try now.
    func wait(of address: String, at now: NIODeadline) -> Int? {
        guard let instants = failures[Self.key(address)], instants.count == Self.limit, let first = instants.first
        else { return nil }
        let rest = first + Self.window - now
        return rest > .zero ? Int((rest.nanoseconds + 999_999_999) / 1_000_000_000) : nil
    }

    /// Counts a failed try.
    mutating func record(_ address: String, at now: NIODeadline) {
        let key = Self.key(address)
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

    /// The network of an IPv6 address, since a client has 2⁶⁴ of them; else the address.
    private static func key(_ address: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &bytes) == 1 else { return address }
        let isV4 = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return bytes.prefix(isV4 ? 16 : 8).map { String($0, radix: 16) }.joined(separator: ":")
    }
}
