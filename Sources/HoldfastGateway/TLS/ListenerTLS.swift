import EventLoops
import HoldfastConfiguration
import NIOCore
import NIOSSL
import Synchronization
import TLSCertificates

/// TLS on one listener. Its files can be reloaded while in use.
final class ListenerTLS: Sendable {
    /// The ciphers for TLS 1.2: only those with forward secrecy and authenticated encryption. The
    /// ciphers of TLS 1.3 are always on.
    static let ciphers: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]
    /// The sizes of reads from a socket, up to 16 KiB. The first is enough for the first message of
    /// most clients.
    private static let readSizes = ReceiveBufferSizes(first: 1 << 10, maximum: 16 << 10)

    private struct Files {
        /// For each certificate: the stamps of its files, and why they were unusable.
        var certificates: [(stamps: [CertificateFile.Stamp], refusal: CertificateRefusal?)] = []
        var roots: CertificateFile.Stamp?
        var rootsRefusal: CertificateRefusal?
        var rootBytes: [UInt8] = []
    }

    let settings: Configuration.TLS
    private let certificates: CurrentCertificates
    private let context: Mutex<NIOSSLContext>
    /// Held while files are read.
    private let files: Mutex<Files>

    /// Reads all files.
    ///
    /// - Throws: ``CertificateRefusal``
    init(_ settings: Configuration.TLS) throws(CertificateRefusal) {
        var files = Files()
        var pairs: [CertificatePair] = []
        for certificate in settings.certificates {
            files.certificates.append((certificate.stamps, nil))
            pairs.append(try CertificatePair(certificate))
        }
        var roots: [NIOSSLCertificate] = []
        if let client = settings.client {
            files.roots = CertificateFile.Stamp(client.roots)
            let file = try CertificateFile(client.roots)
            roots = try CertificatePair.certificates(in: file)
            files.rootBytes = file.bytes
        }
        let certificates = CurrentCertificates(CertificateTable(pairs))
        self.settings = settings
        self.certificates = certificates
        self.files = Mutex(files)
        context = Mutex(try Self.makeContext(settings, pairs[0], certificates, roots))
    }

    private static func makeContext(
        _ settings: Configuration.TLS,
        _ pair: CertificatePair,
        _ certificates: CurrentCertificates,
        _ roots: [NIOSSLCertificate]
    ) throws(CertificateRefusal) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: pair.chain.map { .certificate($0) },
            privateKey: .privateKey(pair.key)
        )
        // With the key that signs elsewhere.
        pair.present(in: &configuration)
        configuration.minimumTLSVersion = settings.minimum == .tls13 ? .tlsv13 : .tlsv12
        configuration.cipherSuiteValues = ciphers
        configuration.applicationProtocols = settings.protocols.map(\.rawValue)
        configuration.renegotiationSupport = .none
        // The connection closes once the alert is written. Waiting for the client's alert would
        // keep the connections of silent clients.
        configuration.shutdownTimeout = .zero
        configuration.sslContextCallback = { values, promise in
            let chosen = certificates.value.pair(for: values.serverHostname)
            // The context has this pair already. With an override, each connection would keep the
            // certificate and its key again.
            promise.succeed(chosen.isSame(as: pair) ? .noChanges : chosen.override)
        }
        if let client = settings.client {
            configuration.trustRoots = .certificates(roots)
            configuration.sendCANameList = true
            configuration.certificateVerification =
                client.demand == .required ? .noHostnameVerification : .optionalVerification
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            let file = settings.client?.roots ?? settings.certificates[0].chain
            throw CertificateRefusal(file, "cannot be used for TLS: \(error)")
        }
    }

    /// Whether clients may use HTTP/2.
    var acceptsHTTP2: Bool { settings.protocols.contains(.http2) }

    /// Creates the handler for a new connection.
    func makeHandler() -> NIOSSLServerHandler {
        NIOSSLServerHandler(context: context.withLock { $0 })
    }

    /// Makes a connection read one record at a time.
    ///
    /// NIOSSL decrypts everything that is read at once into one buffer, and the connection keeps
    /// that buffer at its largest size. ``SocketWriter`` limits writes for the same reason.
    static func limitReads(of channel: any Channel) throws {
        try channel.syncOptions?.setOption(.recvAllocator, value: readSizes)
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    }

    // MARK: Reloading

    /// Reloads the files. Unusable files change nothing. A certificate that clients reject because
    /// of its dates changes nothing either, unless they also reject the one in use.
    ///
    /// - Parameter now: the time in seconds since 1970.
    /// - Returns: a result for each certificate whose files were read, and for the roots.
    func reload(_ selection: CertificateSelection, at now: Int64) -> [CertificateReading] {
        files.withLock { files in
            var pairs = certificates.value.pairs
            var readings: [CertificateReading] = []
            for (index, certificate) in settings.certificates.enumerated() {
                // Stamps are taken first, so that changes made during the read are noticed the next
                // time.
                let stamps = certificate.stamps
                let isChanged = stamps != files.certificates[index].stamps
                // A certificate that was not valid yet may be valid now.
                let isAwaited = files.certificates[index].refusal?.isOfDates == true
                guard selection == .all || isChanged || isAwaited else { continue }
                var reading = CertificateReading(certificate: certificate.name, file: certificate.chain)
                do throws(CertificateRefusal) {
                    let new = try CertificatePair(certificate)
                    reading.warning = new.refusalOfDates(in: certificate.chain, at: now)
                    if let refusal = reading.warning,
                        pairs[index].refusalOfDates(in: certificate.chain, at: now) == nil
                    {
                        throw refusal
                    }
                    pairs[index] = new
                    reading.expiry = pairs[index].expiry
                } catch {
                    reading.file = error.file
                    reading.refusal = error
                }
                files.certificates[index] = (stamps, reading.refusal)
                // Said once for each change.
                if selection == .changed, !isChanged, reading.refusal?.isOfDates == true { continue }
                readings.append(reading)
            }
            if !readings.isEmpty { certificates.replace(with: CertificateTable(pairs)) }
            return readings + reloadRoots(selection, pairs[0], &files)
        }
    }

    /// Reloads the roots of client certificates. Changed roots create a new context, so that
    /// sessions of clients that are no longer trusted are not resumed.
    private func reloadRoots(
        _ selection: CertificateSelection,
        _ pair: CertificatePair,
        _ files: inout Files
    ) -> [CertificateReading] {
        guard let client = settings.client else { return [] }
        let stamp = CertificateFile.Stamp(client.roots)
        guard selection == .all || stamp != files.roots else { return [] }
        files.roots = stamp
        var reading = CertificateReading(file: client.roots)
        do throws(CertificateRefusal) {
            let file = try CertificateFile(client.roots)
            if file.bytes != files.rootBytes {
                let roots = try CertificatePair.certificates(in: file)
                let new = try Self.makeContext(settings, pair, certificates, roots)
                context.withLock { $0 = new }
                files.rootBytes = file.bytes
            }
        } catch {
            reading.refusal = error
        }
        files.rootsRefusal = reading.refusal
        return [reading]
    }

    /// For each certificate: the time when it expires, and whether its files were valid when last
    /// read.
    var state: [(name: String, expiry: Int64, isCurrent: Bool)] {
        let rejected = files.withLock { $0.certificates.map { $0.refusal != nil } }
        return zip(certificates.value.pairs, rejected).map { ($0.name, $0.expiry, !$1) }
    }

    /// Why files could not be used when last read.
    var refusals: [CertificateRefusal] {
        files.withLock { files in files.certificates.compactMap(\.refusal) + [files.rootsRefusal].compactMap(\.self) }
    }
}

extension Configuration.TLS.Certificate {
    fileprivate var stamps: [CertificateFile.Stamp] { [CertificateFile.Stamp(chain), CertificateFile.Stamp(key)] }
}

extension NIOSSLServerHandler {
    /// The TLS version as written in logs; `nil` before the handshake is complete.
    var versionName: String? {
        switch tlsVersion {
        case .tlsv13: "1.3"
        case .tlsv12: "1.2"
        case .tlsv11: "1.1"
        case .tlsv1: "1.0"
        case nil: nil
        }
    }
}
