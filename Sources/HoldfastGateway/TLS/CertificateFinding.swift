import GatewayRouting
package import HTTPCacheSemantics
import HTTPWire
package import HoldfastConfiguration
import NIOSSL
import TLSCertificates

/// A problem with the TLS files of a listener or an origin, for `holdfast check`. It never reveals
/// a key.
package struct CertificateFinding: Sendable, Hashable, CustomStringConvertible {
    /// Whether clients are affected: the gateway does not start, or they reject the certificate.
    package var isError: Bool
    /// The certificate's name in the configuration; `nil` if the finding is not about one
    /// certificate.
    package var certificate: String?
    /// The finding, as a sentence.
    package var message: String

    /// `certificate 'main': …`
    package var description: String { (certificate.map { "certificate '\($0)': " } ?? "") + message }

    /// The time before expiry within which a certificate is reported, in seconds: 14 days
    package static let noticeOfExpiry: Int64 = 14 * 86_400

    /// Checks the files of all listeners.
    ///
    /// - Parameter routes: the routes whose hosts the certificates should cover.
    package static func findings(
        of listeners: [GatewayListener],
        routes: [GatewayRoute],
        at now: Timestamp
    ) -> [CertificateFinding] {
        var examination = Examination(now: now.milliseconds / 1000)
        for listener in listeners {
            if let tls = listener.tls { examination.examine(tls, of: listener, routes) }
        }
        return examination.findings
    }

    /// Checks the files of origins.
    ///
    /// - Parameter origins: the origins, with readable paths to their files.
    package static func findings(of origins: [Configuration.Origin], at now: Timestamp) -> [CertificateFinding] {
        var examination = Examination(now: now.milliseconds / 1000)
        for origin in origins { examination.examine(origin) }
        return examination.findings
    }
}

/// Collects findings.
private struct Examination {
    let now: Int64
    private(set) var findings: [CertificateFinding] = []

    init(now: Int64) { self.now = now }

    private mutating func add(_ isError: Bool, _ certificate: String?, _ message: String) {
        let finding = CertificateFinding(isError: isError, certificate: certificate, message: message)
        // Listeners may share a certificate.
        if !findings.contains(finding) { findings.append(finding) }
    }

    mutating func examine(_ tls: Configuration.TLS, of listener: GatewayListener, _ routes: [GatewayRoute]) {
        var pairs: [CertificatePair] = []
        for files in tls.certificates {
            do throws(CertificateRefusal) {
                let pair = try CertificatePair(files)
                examine(pair, files)
                pairs.append(pair)
            } catch {
                add(true, files.name, "\(error)")
            }
        }
        if let roots = tls.client?.roots {
            do throws(CertificateRefusal) {
                _ = try CertificatePair.certificates(in: CertificateFile(roots))
            } catch {
                add(true, nil, "\(error) This file must contain the roots of client certificates ('client.ca').")
            }
        }
        // If a file cannot be used, the names are unknown.
        guard pairs.count == tls.certificates.count else { return }
        let table = CertificateTable(pairs)
        for host in routes.compactMap(\.host).compactMap(\.nameOfHost) where !table.has(host) {
            add(
                false,
                nil,
                "No certificate of '\(listener.withoutTLS)' covers '\(host)', the host of a route. Clients get '\(pairs[0].name)' and reject it."
            )
        }
    }

    mutating func examine(_ origin: Configuration.Origin) {
        if let roots = origin.tls.roots {
            do throws(CertificateRefusal) {
                let found = try CertificatePair.certificates(in: CertificateFile(roots))
                let expired = found.count { Int64($0.notValidAfter) <= now }
                if expired > 0 {
                    add(
                        false,
                        nil,
                        "\(expired) of the \(found.count) trusted certificates in '\(roots)' have expired. Origins that need them are rejected."
                    )
                }
            } catch {
                add(true, nil, "\(error) This file must contain the trusted certificates ('ca').")
            }
        }
        guard let certificate = origin.tls.certificate, let key = origin.tls.key else { return }
        let files = Configuration.TLS.Certificate(name: origin.url, chain: certificate, key: key)
        do throws(CertificateRefusal) {
            let pair = try CertificatePair(files)
            examineTimes(pair, files)
            examineOrder(pair, files)
        } catch {
            add(true, nil, "\(error)")
        }
    }

    private mutating func examine(_ pair: CertificatePair, _ files: Configuration.TLS.Certificate) {
        examineTimes(pair, files)
        examineChain(pair, files)
        if pair.names.isEmpty {
            add(false, pair.name, "'\(files.chain)' names no host (subjectAltName), so clients reject it.")
        }
        if pair.chain[0].hasRSAKey {
            add(
                false,
                pair.name,
                "'\(files.key)' is an RSA key. Signing a handshake takes 0.6 ms (2048 bits) to 4 ms (4096 bits) of CPU time, compared with 0.02 ms for ECDSA (P-256). Prefer ECDSA."
            )
        }
    }

    private mutating func examineTimes(_ pair: CertificatePair, _ files: Configuration.TLS.Certificate) {
        if let refusal = pair.refusalOfDates(in: files.chain, at: now) { add(true, pair.name, "\(refusal)") }
        if pair.expiry > now, pair.expiry < now + CertificateFinding.noticeOfExpiry {
            add(false, pair.name, "'\(files.chain)' expires in \(CertificatePair.days(pair.expiry - now)). Renew it.")
        }
    }

    private mutating func examineOrder(_ pair: CertificatePair, _ files: Configuration.TLS.Certificate) {
        let names = pair.chain.map { (try? $0.toDERBytes()).flatMap { CertificateNames($0) } }
        for (index, both) in zip(names, names.dropFirst()).enumerated() {
            guard let issued = both.0, let issuer = both.1, !issued.issuer.elementsEqual(issuer.subject) else {
                continue
            }
            add(
                true,
                pair.name,
                "In '\(files.chain)', certificate \(index + 2) did not issue certificate \(index + 1). Put the server's certificate first, and each certificate's issuer directly after it."
            )
        }
    }

    private mutating func examineChain(_ pair: CertificatePair, _ files: Configuration.TLS.Certificate) {
        examineOrder(pair, files)
        let names = (try? pair.chain[0].toDERBytes()).flatMap { CertificateNames($0) }
        if pair.chain.count == 1, names?.isSelfSigned == false {
            add(
                false,
                pair.name,
                "'\(files.chain)' contains one certificate. If an intermediate issued it, clients need that certificate too (often in 'fullchain.pem')."
            )
        }
    }
}

extension String {
    /// The name in a route's host, without the port and with a leading `*.`, if any.
    fileprivate var nameOfHost: String? {
        guard hasPrefix("*.") else { return RequestedHost(self)?.name }
        return RequestedHost(String(dropFirst(2))).map { "*.\($0.name)" }
    }
}
