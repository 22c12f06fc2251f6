import CProcess
import CommandLineSupport
import Crypto
import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastGateway
import LibC
import RunCertificates
import Synchronization

/// The proxy of one run of a command: its authority, its password and its files.
struct RunProxy: Sendable {
    private static let user = "holdfast"
    private static let javaFile = "trusted.jks"
    private static let crashSignals = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP]

    /// The parts for the gateway.
    let parts: JobProxy
    /// The user and the password as in a URL, with an '@'; empty if the proxy has none.
    private let userInformation: String
    private let includesJava: Bool
    private let folder: RunFolder
    private let bundle: String
    /// The command's home folder; `nil` for the caller's.
    private let home: String?
    private let events: ProxyEvents

    /// - Throws: `CommandFailure`
    init(_ settings: ProxySettings, for use: JobGateway.Use, environment: [String: String]) throws {
        let events = ProxyEvents()
        self.events = events
        // Before there is a key.
        guard cprocess_hideMemory() == 0 else {
            throw CommandFailure(
                "The memory of this process cannot be protected from other processes: \(String(cString: strerror(errno)))."
            )
        }
        // Swift's report of a crash shows registers, and the memory that they point to.
        for number in Self.crashSignals { signal(number, SIG_DFL) }
        var random = SystemRandomNumberGenerator()
        let password = (0..<4).map { _ in String(UInt64.random(in: .min ... .max, using: &random), radix: 36) }.joined()
        let credentials = settings.needsPassword ? "\(Self.user):\(password)" : nil
        userInformation = credentials.map { $0 + "@" } ?? ""
        includesJava = settings.includesJava
        let clock = ContinuousClock()
        let start = clock.now
        let authority: RunAuthority
        let proxy: CommandProxy
        do {
            authority = try RunAuthority(
                key: P256.Signing.PrivateKey(),
                leafKey: P256.Signing.PrivateKey(),
                at: SystemWallClock().now().milliseconds / 1000
            )
            let issuer = LeafIssuer(authority) {
                let time = start.duration(to: clock.now).components
                return time.seconds * 1000 + time.attoseconds / 1_000_000_000_000_000
            }
            proxy = try CommandProxy(
                credentials: credentials.map { Data($0.utf8).base64EncodedString() },
                // Nothing leaves this process in a replay.
                ports: use == .replaying ? nil : settings.ports,
                certificates: RunLeaves(issuer: issuer),
                key: authority.leafKey,
                report: { events.take($0) }
            )
        } catch {
            throw CommandFailure("The certificates of this run cannot be created: \(error).")
        }
        folder = try RunFolder()
        do {
            let roots = try TrustedRoots(environment: environment)
            let trusted = roots.bytes + Array(authority.pem.utf8) + [10]
            bundle = try folder.write("trusted.pem", trusted, isPublic: true)
            if includesJava {
                let store = try JavaTrustStore(pem: String(decoding: trusted, as: UTF8.self))
                _ = try folder.write(Self.javaFile, store.bytes, isPublic: true)
            }
            home = try settings.includesChromium ? folder.home(trusting: authority.pem, environment) : nil
            let extended = roots.isExtended ? try folder.write("origins.pem", roots.bytes) : nil
            parts = JobProxy(
                proxy: proxy,
                destinations: DestinationPolicy(allowsPrivate: settings.allowsPrivate),
                originRoots: settings.originRoots ?? extended
            )
        } catch {
            folder.remove()
            throw error
        }
    }

    /// Returns the command's environment.
    ///
    /// - Parameter address: the proxy's host and port.
    /// - Throws: `CommandFailure`
    func environment(at address: String, over existing: [String: String]) throws -> [String: String] {
        let variables = CommandEnvironment(
            proxy: "http://\(userInformation)\(address)",
            bundle: bundle,
            wgetFile: folder.path + "/wgetrc",
            aptFile: folder.path + "/apt.conf",
            javaFile: includesJava ? folder.path + "/" + Self.javaFile : nil,
            home: home
        )
        let wget = existing["WGETRC"] ?? (existing["HOME"] ?? "") + "/.wgetrc"
        let settings = FileManager.default.contents(atPath: wget).map { String(decoding: $0, as: UTF8.self) } ?? ""
        _ = try folder.write("wgetrc", Array(variables.wgetConfiguration(after: settings).utf8))
        _ = try folder.write("apt.conf", Array(variables.aptConfiguration(including: existing["APT_CONFIG"]).utf8))
        return variables.variables(over: existing)
    }

    /// The hosts of requests that could not be read, or were refused.
    var hosts: UnrecordedHosts { events.hosts }

    /// Removes the files of the run.
    func end() { folder.remove() }
}

/// The leaf certificates of a run, for the gateway.
private struct RunLeaves: TunnelCertificates {
    let issuer: LeafIssuer

    func certificate(for host: String, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void) {
        issuer.certificate(for: host, completion)
    }
}

/// The certificates that the caller of a command trusts.
private struct TrustedRoots {
    /// The usual places of the system's certificates.
    private static let places = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]
    /// The maximum length of a file of certificates: 16 MiB
    private static let limit = 16 << 20

    /// All certificates, in PEM.
    private(set) var bytes: [UInt8] = []
    /// Whether there are others than the system's.
    private(set) var isExtended = false

    /// - Throws: `CommandFailure` if a file that the environment names cannot be read. Without it,
    ///   the command would fail later, and nothing would say why.
    init(environment: [String: String]) throws {
        if let system = Self.places.lazy.compactMap({ Self.read($0) }).first { bytes += system + [10] }
        for file in CommandEnvironment.certificateFiles(in: environment) where !Self.places.contains(file) {
            guard let more = Self.read(file) else {
                throw CommandFailure(
                    "The certificate file '\(file)' cannot be read, or is larger than \(Self.limit) bytes. An environment variable names this file."
                )
            }
            bytes += more + [10]
            isExtended = true
        }
    }

    private static func read(_ file: String) -> [UInt8]? {
        guard let handle = FileHandle(forReadingAtPath: file) else { return nil }
        defer { try? handle.close() }
        guard let bytes = try? handle.read(upToCount: limit + 1), bytes.count <= limit else { return nil }
        return Array(bytes)
    }
}

/// The hosts that the proxy's events name.
private final class ProxyEvents: Sendable {
    private let named = Mutex(UnrecordedHosts())

    var hosts: UnrecordedHosts { named.withLock { $0 } }

    func take(_ event: CommandProxy.Event) {
        named.withLock { named in
            switch event {
            case .failedHandshake(let host, let reason): named.addUnread(host, reason)
            case .emptyTunnel(let host): named.addUnread(host, UnrecordedHosts.noRequest)
            case .switchedProtocol(let host): named.addUnread(host, "a WebSocket is forwarded, but not recorded")
            case .refused(let host, let reason): named.addRefused(host, reason)
            }
        }
    }
}
