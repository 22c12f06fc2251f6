import CommandLineSupport
import Foundation
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway
import HoldfastMetrics
import LocalSockets
import NIOCore

extension GatewayProcess {
    /// Prepares the control plane, and connects it to the gateway's clients that may purge.
    ///
    /// A socket that the user specified must work. The default socket must not prevent startup,
    /// because the file system may be read-only, or the folder's path may be too long. In both
    /// cases, it is an error if another process is listening on the socket.
    ///
    /// A port is always specified by the user, so it must work.
    ///
    /// - Throws: `SocketRefusal`, `InvalidSetting`
    static func makeControl(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        _ operations: any CacheOperations,
        _ store: CacheManager,
        _ tokens: TokenVerifier?,
        _ metricsAddress: MetricsAddress?,
        _ purging: ControlledPurging,
        _ metrics: MetricsRegistry,
        on group: any EventLoopGroup,
        _ logger: Logger
    ) async throws -> ControlServer? {
        let socket: ControlSocket
        switch settings.control {
        case .nowhere: return nil
        case .standard: socket = ControlSocket(store: store.folder, environment: ProcessInfo.processInfo.environment)
        case .socket(let path): socket = ControlSocket(path: absolute(path))
        }
        let network = try tokens.flatMap { try makeNetwork(settings, $0, logger) }
        try await network?.check(on: group)
        try await metricsAddress?.check(on: group)
        do {
            let server = try ControlServer(
                socket: socket,
                network: network,
                metricsAddress: metricsAddress,
                store: store.folder,
                operations: operations,
                build: ProgramBuild(
                    version: Release.version,
                    revision: Release.revision,
                    sqlite: CacheManager.sqliteVersion
                ),
                loops: Array(group.makeIterator()),
                pageFolder: named.pageFolder.map(absolute),
                metrics: metrics,
                logger: logger,
                whenListening: { place in
                    if case .metrics(let url) = place {
                        StandardStream.error.line("holdfast metrics at \(url)")
                    } else {
                        StandardStream.error.line("holdfast controlled by \(place)")
                    }
                }
            )
            if let folder = named.pageFolder {
                logger.warning(
                    "Serving the status page from a folder ('--page-assets')",
                    metadata: ["control.page": "\(folder)"]
                )
            }
            if let tokens { purging.connect(to: server, tokens) }
            return server
        } catch let refusal as SocketRefusal
            where settings.control == .standard && network == nil && metricsAddress == nil && !refusal.isInUse
        {
            logger.warning("Control plane is not available", metadata: ["control.error": "\(refusal)"])
            return nil
        }
    }

    /// Reads the tokens from the configured files or from the store's folder. Returns `nil` if no
    /// operation needs a token.
    static func readTokens(_ settings: ServeSettings, _ files: TokenFiles, _ logger: Logger) throws -> TokenWatch? {
        guard settings.control != .nowhere, !files.control.isEmpty else { return nil }
        if let standard = files.standard {
            _ = try standard.makeIfMissing()
            StandardStream.error.line("holdfast control token in \(standard.path)")
        }
        return try watch("control.tokens", logger) { () throws(InvalidSetting) in try files.readControl() }
    }

    /// Reads the token of the port for metrics. Returns `nil` if clients need none.
    static func readMetricsToken(
        _ settings: ServeSettings,
        _ files: TokenFiles,
        _ logger: Logger
    ) throws -> TokenWatch? {
        guard settings.control != .nowhere, files.hasMetricsToken else { return nil }
        return try watch("metrics.token", logger) { () throws(InvalidSetting) in
            try files.readMetrics().map { [$0] } ?? []
        }
    }

    private static func watch(
        _ setting: String,
        _ logger: Logger,
        read: @escaping @Sendable () throws(InvalidSetting) -> [ControlToken]
    ) throws -> TokenWatch {
        do throws(InvalidSetting) {
            return try TokenWatch(logger: logger, read: read)
        } catch {
            throw InvalidSetting("\(setting): \(error)")
        }
    }

    /// Creates the port for metrics, if the file sets one.
    static func makeMetricsAddress(
        _ settings: ServeSettings,
        _ token: TokenVerifier?,
        _ server: GatewayServer
    ) throws -> MetricsAddress? {
        guard settings.control != .nowhere, let listen = settings.file.metrics.listen else { return nil }
        let address = try ListenAddress(listen)
        return MetricsAddress(
            host: address.host,
            port: address.port,
            hosts: settings.file.control.hosts,
            tokens: token,
            tls: try settings.file.metricsTLS.map { try server.openCertificates($0) }
        )
    }

    /// Creates the control plane's port, if the file sets one.
    private static func makeNetwork(
        _ settings: ServeSettings,
        _ tokens: TokenVerifier,
        _ logger: Logger
    ) throws -> ControlNetwork? {
        guard let listen = settings.file.control.listen else { return nil }
        let address = try ListenAddress(listen)
        if settings.file.control.isReachableFromOthers {
            logger.warning(
                "Control plane accepts tokens over the network without TLS ('control.insecure')",
                metadata: ["control.listen": "\(address)"]
            )
        }
        let hosts = settings.file.control.hosts
        return ControlNetwork(host: address.host, port: address.port, tokens: tokens, hosts: hosts)
    }

    /// Resolves a path. A relative path is relative to the working directory, which may change.
    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}

extension ControlScope {
    init(_ scope: Configuration.Scope) {
        switch scope {
        case .read: self = .read
        case .purge: self = .purge
        case .operate: self = .operate
        }
    }
}
