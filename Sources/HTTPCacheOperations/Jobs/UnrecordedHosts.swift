/// The hosts to which a command sent requests that are not in its job, because the command's proxy
/// could not read them or refused them. A replay answers none of them.
package struct UnrecordedHosts: Sendable, Hashable {
    /// The maximum number of hosts of each kind that are named. Others count as ``others``.
    package static let limit = 16
    /// The name for further hosts.
    package static let others = "other hosts"
    /// The reason of a host to which a tunnel was opened that ended before its first request.
    package static let noRequest = "no request came through the tunnel"
    /// The maximum length of a host and of a reason, in bytes.
    private static let longestText = 512

    /// Why requests could not be read, by host.
    package private(set) var unread: [String: String] = [:]
    /// Why requests were refused, by host, with the port if that is the reason.
    package private(set) var refused: [String: String] = [:]

    package init() {}

    /// - Returns: `nil` if there are too many hosts, or one of the texts is too long or has control
    ///   characters.
    package init?(unread: [(String, String)], refused: [(String, String)]) {
        for (host, reason) in unread + refused where !(Self.isText(host) && Self.isText(reason)) { return nil }
        guard max(unread.count, refused.count) <= Self.limit + 1 else { return nil }
        self.unread = Dictionary(unread) { first, _ in first }
        self.refused = Dictionary(refused) { first, _ in first }
    }

    package var isEmpty: Bool { unread.isEmpty && refused.isEmpty }

    /// Adds a host to which requests could not be read. The first reason for a host stays.
    package mutating func addUnread(_ host: String, _ reason: String) { Self.add(host, reason, to: &unread) }

    /// Adds a host to which requests were refused.
    package mutating func addRefused(_ host: String, _ reason: String) { Self.add(host, reason, to: &refused) }

    /// Returns these hosts without those to which a tunnel stayed unused, if other requests to them
    /// were read: some clients open connections in advance.
    package func leavingOutUnusedTunnels(to hosts: Set<String>) -> UnrecordedHosts {
        var result = self
        result.unread = unread.filter { !($0.value == Self.noRequest && hosts.contains($0.key)) }
        return result
    }

    private static func add(_ host: String, _ reason: String, to hosts: inout [String: String]) {
        let isNamed = isText(host) && (hosts[host] != nil || hosts.count(where: { $0.key != others }) < limit)
        let name = isNamed ? host : others
        if hosts[name] == nil { hosts[name] = isText(reason) ? reason : "unknown reason" }
    }

    private static func isText(_ text: String) -> Bool {
        (1...longestText).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    // MARK: Words

    /// Sentences without a full stop.
    package var sentences: [String] {
        let unread = unread.sorted { $0.key < $1.key }.map { host, reason in
            reason == Self.noRequest
                ? "\(reason) to '\(host)': its client may pin certificates"
                : "requests to '\(host)' could not be read (\(reason))"
        }
        return unread + refused.sorted { $0.key < $1.key }.map { "requests to '\($0)' were refused (\($1))" }
    }
}
