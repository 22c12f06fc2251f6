import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway
import LibC
import LocalSockets
import NIOCore
import StoreFiles

/// The options with which a command finds a gateway or its store, and its output format.
struct GatewayLocation: ParsableArguments {
    /// The output format.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(help: "Store folder. 'holdfast serve' prints the folder that it uses by default.")
    var store: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("Configuration file, YAML or JSON, that sets the store.", valueName: "file")
    )
    var file: String?

    @Option(help: ArgumentHelp("Origin whose default store to use.", valueName: "url"))
    var origin: String?

    @Option(help: ArgumentHelp("Control socket of a running gateway, instead of a store.", valueName: "path"))
    var socket: String?

    // A negative number is an error about the number, not about a missing value.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Time limit for each response of the gateway's control socket. Default: 10; for purges and pins, 300 if the gateway responds at all.",
            valueName: "seconds"
        ),
        transform: { try WholeNumber.read($0) }
    )
    var timeout: Int64?

    @Option(help: "Output format; json prints one JSON object.")
    var format = Format.text

    /// The help text about these options.
    static let help = """
        The gateway is found by its store: the folder of '--store', 'store.path' in the file of '--config' (which may have errors elsewhere), or the default folder for '--origin'. Without these options, \
        $HOLDFAST_STORE, $HOLDFAST_CONFIG and $HOLDFAST_ORIGIN are used, in this order. 'holdfast serve' prints its default folder and its control socket.
        """

    func validate() throws {
        if let origin {
            do { _ = try GatewayOrigin(origin) } catch { throw ValidationError("'--origin': \(error)") }
        }
        if let socket, socket.contains("://") {
            throw ValidationError("'--socket' is the path of a Unix socket, not a URL.")
        }
        if let timeout, !Self.timeouts.contains(timeout) {
            throw ValidationError(
                "'--timeout' must be a number of seconds from \(Self.timeouts.lowerBound) to \(Self.timeouts.upperBound), not '\(timeout)'."
            )
        }
    }

    private static let timeouts: ClosedRange<Int64> = 1...3600

    /// The time limit for the gateway's responses; `nil` for the standard ones.
    var timeLimit: TimeAmount? { timeout.map { .seconds($0) } }

    /// A store, and the settings from the file that names it.
    struct NamedStore: OriginURLFinding {
        var folder: String
        /// The settings; `nil` if no file names the store.
        var settings: CacheManager.Configuration?
        /// The routes of that file; `nil` if there are none.
        var routes: GatewayRoutes?
        /// The rules of that file.
        var rules: RuleSet?
        /// The path of that file, if it is invalid. Its other settings are then unknown.
        var invalidFile: String?

        func originURLs(of url: TargetURI) -> [OriginURL] {
            guard let rules else { return routes?.originURLs(of: url) ?? [] }
            return routes?.originURLs(of: url, by: rules) ?? []
        }

        func originPrefixes(of prefix: TargetURI) -> [OriginURL] { routes?.originPrefixes(of: prefix) ?? [] }
    }

    /// Returns the store that the options select. The file that names it may have errors elsewhere.
    ///
    /// - Parameter warns: whether to write a warning about such a file to standard error.
    /// - Throws: `ValidationError` if none is set; `CommandFailure`; the findings in a file.
    func namedStore(
        _ environment: [String: String] = ProcessInfo.processInfo.environment,
        warns: Bool = true
    ) throws -> NamedStore {
        if let store { return NamedStore(folder: store) }
        // An option takes precedence over every variable.
        if let file { return try Self.store(ofFile: file, environment, warns: warns) }
        if let origin { return try Self.store(ofOrigin: origin, environment) }
        if let store = ServeVariable.store.value(in: environment) { return NamedStore(folder: store) }
        if let file = ServeVariable.config.value(in: environment) {
            return try Self.store(ofFile: file, environment, warns: warns)
        }
        if let origin = ServeVariable.origin.value(in: environment) {
            return try Self.store(ofOrigin: origin, environment)
        }
        throw ValidationError(
            "No store is set. Use '--store', '--config' or '--origin', or a gateway's '--socket'."
        )
    }

    /// The configuration file that the options name, or the variable in their absence; `nil` if
    /// neither does.
    func namedFile(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        if let file { return file }
        guard store == nil, origin == nil, socket == nil, ServeVariable.store.value(in: environment) == nil else {
            return nil
        }
        return ServeVariable.config.value(in: environment)
    }

    private static func store(ofOrigin url: String, _ environment: [String: String]) throws -> NamedStore {
        NamedStore(folder: try DefaultStore(environment: environment).path(for: GatewayOrigin(url)))
    }

    private static func store(
        ofFile path: String,
        _ environment: [String: String],
        warns: Bool
    ) throws -> NamedStore {
        let configuration: HoldfastConfiguration.Configuration
        do {
            configuration = try HoldfastConfiguration.Configuration(withoutValuesOf: path, environment: environment)
        } catch let error as ConfigurationError {
            return try Self.store(ofInvalidFile: path, error, environment, warns: warns)
        }
        guard let folder = configuration.storeFolder else {
            throw CommandFailure("'\(path)' sets no store. Set 'store.path' in the file, or use '--store'.")
        }
        return NamedStore(
            folder: folder,
            settings: CacheManager.Configuration(configuration.store),
            routes: try? GatewayRoutes(of: configuration),
            rules: configuration.rules
        )
    }

    /// Returns the store of a file that has errors, so that the running gateway can be reached
    /// while an operator corrects the file.
    private static func store(
        ofInvalidFile path: String,
        _ error: ConfigurationError,
        _ environment: [String: String],
        warns: Bool
    ) throws -> NamedStore {
        typealias Configuration = HoldfastConfiguration.Configuration
        guard let folder = Configuration.storeFolder(ofInvalidFile: path, environment: environment) else {
            if warns { for finding in error.findings { StandardStream.error.line("\(finding)") } }
            throw CommandFailure(
                "'store.path' in '\(path)' cannot be read. Correct the file, name the store with '--store', "
                    + "or name the gateway's control socket with '--socket'."
            )
        }
        if warns, let finding = error.findings.first {
            StandardStream.error.line("warning: only 'store.path' of the invalid file is used. \(finding)")
        }
        return NamedStore(folder: folder, invalidFile: path)
    }

    /// Returns a client for the control plane of the running gateway.
    ///
    /// - Parameter warns: whether to write a warning about a file that names the store, but has
    ///   errors elsewhere.
    /// - Throws: `CommandFailure` if no gateway is listening.
    func gateway(warns: Bool = true) throws -> ControlClient {
        if let socket {
            let socket = try Self.socket(at: socket, of: "--socket", forStore: "use '--store'")
            guard let client = try ControlClient(reaching: socket, timeLimit: timeLimit) else {
                throw Self.noGateway(on: socket)
            }
            return client
        }
        let quiet = warns ? nil : (try? namedStore(warns: false))
        let folder = try quiet?.folder ?? namedStore().folder
        let socket = ControlSocket.inStore(folder)
        guard let client = try ControlClient(reaching: socket, timeLimit: timeLimit) else {
            throw CommandFailure(Self.unreachable(socket, store: folder, isInFile: namedFile() != nil))
        }
        return client
    }

    /// Returns the control socket at a path. Its gateway may not respond.
    ///
    /// - Parameters:
    ///   - option: the option that names the path.
    ///   - advice: what to do if the path is that of a store.
    /// - Throws: `CommandFailure` if there is no socket at the path.
    static func socket(at path: String, of option: String, forStore advice: String) throws -> ControlSocket {
        let socket = ControlSocket(path: path)
        switch FileIdentity(of: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)?.kind {
        case S_IFSOCK?:
            if let fault = faultOfHandover(path) { throw CommandFailure(fault) }
            return socket
        case S_IFLNK?:
            throw CommandFailure(
                "The link '\(path)' leads to no file, so its gateway is not running. Start it with 'holdfast serve', without '--no-control'."
            )
        case let kind?:
            let advice = kind == S_IFDIR ? " If it is a store, \(advice)." : ""
            throw CommandFailure("'\(path)' is not a socket. Check the path of '\(option)'.\(advice)")
        // This user may not enter the folder.
        case nil where socket.reach != .nobody: return socket
        case nil: throw noGateway(on: socket)
        }
    }

    /// Says which socket to use instead of the one where a gateway waits for its successor.
    private static func faultOfHandover(_ path: String) -> String? {
        let url = URL(fileURLWithPath: path)
        let store = url.deletingLastPathComponent().path
        guard url.lastPathComponent == HandoverSocket.name, case .store? = try? StoreFolder(path: store).content()
        else { return nil }
        return "'\(path)' is the socket for 'holdfast serve --takeover'. "
            + "The control socket is '\(ControlSocket.inStore(store).path)'."
    }

    private static func noGateway(on socket: ControlSocket) -> CommandFailure {
        CommandFailure(
            "No gateway listens on the control socket '\(socket.path)'. Start one with 'holdfast serve', without '--no-control'."
        )
    }

    /// Says why nothing listens on the socket of a store.
    ///
    /// - Parameter isInFile: whether a configuration file names the store.
    private static func unreachable(_ socket: ControlSocket, store: String, isInFile: Bool) -> String {
        let folder = StoreFolder(path: store)
        if let holder = FolderLock.holder(path: folder.lockPath) {
            return "The store '\(store)' is open in \(holder), which has no control socket at '\(socket.path)'. "
                + "If that is a gateway, restart it, without '--no-control'. The restart also helps if the store's folder was deleted, moved or replaced while in use."
        }
        // A gateway's option and variable are not known here.
        let other =
            isInFile
            ? " A gateway that was started with '--store' or HOLDFAST_STORE has another store: name it with '--store'."
            : ""
        let start = "start a gateway with 'holdfast serve'"
        switch try? folder.content() {
        case .absent:
            let change = isInFile ? " 'store.path' changed, or" : ""
            return
                "The store '\(store)' does not exist. Check the path, or \(start). If\(change) the folder was deleted while a gateway used it, restart that gateway.\(other)"
        case .empty: return "'\(store)' is not a store: it is empty. Check the path, or \(start)."
        case .other(let what): return "'\(store)' is not a store: \(what). Check the path."
        case .store, .unnamed, nil: break
        }
        if access(store, W_OK) != 0, errno == EROFS {
            return
                "The store '\(store)' is on a read-only file system, which can hold no control socket. If a gateway serves it, set 'control.socket' in its configuration file, restart it, and use '--socket'."
        }
        return
            "No gateway listens on the control socket '\(socket.path)'. Start one with 'holdfast serve', without '--no-control'. If one is running, the store's folder was moved or replaced while in use: restart that gateway.\(other)"
    }

    /// Writes a result as one JSON object or as text.
    func write<Result: Encodable>(_ result: Result, _ words: (Result) -> String) throws {
        var text: String
        switch format {
        case .text: text = words(result)
        case .json:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            text = String(decoding: try encoder.encode(result), as: UTF8.self)
        }
        text += "\n"
        do {
            try text.withUTF8 { try StandardStream.output.write(UnsafeRawBufferPointer($0)) }
        } catch is StandardStream.Closed {}
    }
}
