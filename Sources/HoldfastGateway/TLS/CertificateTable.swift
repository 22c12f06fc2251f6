import NIOSSL
import Synchronization
import TLSCertificates

/// A listener's certificates by host name.
struct CertificateTable: Sendable {
    private(set) var pairs: [CertificatePair]
    /// The index of the pair for a name, and for all names with one more label.
    private var exact: [String: Int] = [:]
    private var wildcards: [String: Int] = [:]

    /// - Parameter pairs: at least one pair. Clients that name no host or an unknown host get the
    ///   first pair. If several pairs have the same name, the first of them is used.
    init(_ pairs: [CertificatePair]) {
        self.pairs = pairs
        for (index, pair) in pairs.enumerated() {
            for name in pair.names {
                if name.hasPrefix("*.") {
                    let parent = String(name.dropFirst(2))
                    if wildcards[parent] == nil { wildcards[parent] = index }
                } else if exact[name] == nil {
                    exact[name] = index
                }
            }
        }
    }

    /// Returns the pair for the name that a client sends. RFC 6066 §3
    func pair(for name: String?) -> CertificatePair {
        pairs[name.flatMap { index(of: $0.lowercased()) } ?? 0]
    }

    /// Whether a certificate covers a host. The host `*.example.com` means all hosts with one more
    /// label.
    func has(_ host: String) -> Bool { index(of: host) != nil }

    /// - Parameter name: lowercase.
    private func index(of name: String) -> Int? {
        if let index = exact[name] { return index }
        // RFC 9525 §6.3: the star matches exactly one label.
        return name.firstIndex(of: ".").flatMap { wildcards[String(name[name.index(after: $0)...])] }
    }
}

/// A listener's current table. All event loops read it.
final class CurrentCertificates: Sendable {
    private let table: Mutex<CertificateTable>

    init(_ table: CertificateTable) { self.table = Mutex(table) }

    var value: CertificateTable { table.withLock { $0 } }

    func replace(with new: CertificateTable) { table.withLock { $0 = new } }
}
