import HoldfastConfiguration
import NIOCore
import NIOSSL
import Synchronization
import TLSCertificates

/// TLS for an origin with its own TLS settings. Its files can be reloaded while in use.
final class OriginSecurity: Sendable {
    private struct State {
        var context: NIOSSLContext
        var revision: UInt32
        var files: Files
        var stamps: [CertificateFile.Stamp]
        var refusal: CertificateRefusal?
    }

    /// The contents of the files.
    private struct Files {
        var bytes: [[UInt8]]
        var roots: [NIOSSLCertificate]?
        var pair: CertificatePair?
    }

    private static let revisions = Atomic<UInt32>(0)

    /// The origin: `https://a.example`.
    let url: String
    let settings: Configuration.Origin.TLS
    /// See ``OriginTransport/Configuration/trustRootsFile``.
    let commonRoots: String?
    /// Held while files are read.
    private let state: Mutex<State>

    /// Reads all files.
    ///
    /// - Throws: ``CertificateRefusal``
    init(_ url: String, _ settings: Configuration.Origin.TLS, commonRoots: String?) throws(CertificateRefusal) {
        (self.url, self.settings, self.commonRoots) = (url, settings, commonRoots)
        let stamps = Self.stamps(settings)
        let files = try Self.read(url, settings)
        let context = try Self.makeContext(settings, files, commonRoots)
        state = Mutex(State(context: context, revision: Self.nextRevision(), files: files, stamps: stamps))
    }

    private static func nextRevision() -> UInt32 { revisions.add(1, ordering: .relaxed).newValue }

    private static func paths(_ settings: Configuration.Origin.TLS) -> [String] {
        [settings.roots, settings.certificate, settings.key].compactMap { $0 }
    }

    private static func stamps(_ settings: Configuration.Origin.TLS) -> [CertificateFile.Stamp] {
        paths(settings).map { CertificateFile.Stamp($0) }
    }

    private static func read(
        _ url: String,
        _ settings: Configuration.Origin.TLS
    ) throws(CertificateRefusal) -> Files {
        var files = Files(bytes: [])
        if let roots = settings.roots {
            let file = try CertificateFile(roots)
            files.roots = try CertificatePair.certificates(in: file)
            files.bytes.append(file.bytes)
        }
        if let certificate = settings.certificate, let key = settings.key {
            files.pair = try CertificatePair(.init(name: url, chain: certificate, key: key))
            files.bytes += [try CertificateFile(certificate).bytes, try CertificateFile(key, isKey: true).bytes]
        }
        return files
    }

    private static func makeContext(
        _ settings: Configuration.Origin.TLS,
        _ files: Files,
        _ commonRoots: String?
    ) throws(CertificateRefusal) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        if let roots = files.roots {
            configuration.trustRoots = .certificates(roots)
        } else if let commonRoots {
            configuration.trustRoots = .file(commonRoots)
        }
        if !settings.isVerified {
            configuration.certificateVerification = .none
            // Trusted certificates are not needed, and may be missing.
            configuration.trustRoots = .certificates([])
        }
        files.pair?.present(in: &configuration)
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            let file = settings.roots ?? settings.certificate ?? commonRoots ?? "(the system's certificates)"
            throw CertificateRefusal(file, "cannot be used for TLS: \(error)")
        }
    }

    /// The context for new connections.
    var context: NIOSSLContext { state.withLock { $0.context } }

    /// A number that changes when the context changes.
    var revision: UInt32 { state.withLock { $0.revision } }

    /// The time when the certificate presented to the origin expires, in seconds since 1970; `nil`
    /// if there is none.
    var expiry: Int64? { state.withLock { $0.files.pair?.expiry } }

    /// Whether the files were valid when last read.
    var isCurrent: Bool { refusal == nil }

    /// Why the files could not be used when last read; `nil` if they could.
    var refusal: CertificateRefusal? { state.withLock { $0.refusal } }

    /// Reloads the files. Unusable files change nothing. If the contents are the same as before,
    /// connections stay in use.
    ///
    /// - Returns: the result if files were read; otherwise `nil`.
    func reload(_ selection: CertificateSelection) -> CertificateReading? {
        let paths = Self.paths(settings)
        guard let first = paths.first else { return nil }
        return state.withLock { state in
            // Stamps are taken first, so that changes made during the read are noticed the next
            // time.
            let stamps = Self.stamps(settings)
            guard selection == .all || stamps != state.stamps else { return nil }
            state.stamps = stamps
            var reading = CertificateReading(certificate: url, file: first)
            do throws(CertificateRefusal) {
                let files = try Self.read(url, settings)
                if files.bytes != state.files.bytes {
                    state.context = try Self.makeContext(settings, files, commonRoots)
                    state.files = files
                    state.revision = Self.nextRevision()
                }
                reading.expiry = files.pair?.expiry
            } catch {
                reading.file = error.file
                reading.refusal = error
            }
            state.refusal = reading.refusal
            return reading
        }
    }
}
