import CommandLineSupport
import Foundation
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway
import LibC
import LocalSockets
import OfflineStore

/// Checks what 'holdfast serve' needs besides a valid file: the store's folder, the token files,
/// the folder of the access log, and the ports. It changes nothing.
struct StartCheck {
    private let configuration: HoldfastConfiguration.Configuration
    private let gateway: GatewayConfiguration
    private(set) var errors: [ConfigurationError.Finding] = []
    private(set) var warnings: [ConfigurationError.Finding] = []

    init(_ configuration: HoldfastConfiguration.Configuration, _ gateway: GatewayConfiguration) {
        (self.configuration, self.gateway) = (configuration, gateway)
        checkStore()
        checkTokens()
        checkLog()
        checkPorts()
        checkSockets()
    }

    private func finding(_ setting: String, _ message: String) -> ConfigurationError.Finding {
        configuration.finding(setting, message)
    }

    private mutating func checkStore() {
        let settings = CacheManager.Configuration(configuration.store)
        let least = CacheManager.Configuration.minimumBudget
        guard settings.budget >= least else {
            let message =
                "\(ByteSize.text(settings.budget)) is too small for a store. The minimum is \(ByteSize.text(least))."
            errors.append(finding("store.budget", message))
            return
        }
        do {
            let largest = try CacheManager.largestBody(settings)
            for (index, rule) in configuration.rules.rules.enumerated() {
                guard let size = rule.settings.store.largest, size > largest else { continue }
                warnings.append(
                    .init(
                        file: rule.location?.file,
                        line: rule.location?.settings["store.largest"] ?? rule.location?.line,
                        subject: rule.name.map { "rule '\($0)'" } ?? "rule \(index + 1)",
                        setting: "store.largest",
                        message: "It has no effect: a body may have at most \(ByteSize.text(largest)), "
                            + "which is an eighth of 'store.budget', or 4 GiB if that is less. Lower it, or raise the budget."
                    )
                )
            }
            warnings += StoreRoom(of: settings, at: configuration.storeFolder).warnings
                .map { finding($0.setting, $0.message) }
            guard let folder = configuration.storeFolder else { return }
            try CacheManager.check(at: folder, configuration: settings)
        } catch let error as StoreError where error.code == .invalidConfiguration {
            errors.append(finding("store.budget", "\(error)"))
        } catch {
            errors.append(finding("store.path", "\(error)"))
        }
    }

    private mutating func checkTokens() {
        guard !configuration.control.isOff else { return }
        let files = TokenFiles(configuration, store: configuration.storeFolder)
        var tokens: [ControlToken] = []
        // The gateway creates the standard file when it starts.
        for entry in files.control where entry.file != files.standard {
            do { tokens.append(try entry.read()) } catch { errors.append(finding("control.tokens", "\(error)")) }
        }
        do { _ = try files.readMetrics() } catch { errors.append(finding("metrics.token", "\(error)")) }
        // One token twice is an error too.
        guard tokens.count > 1 else { return }
        do { _ = try TokenVerifier(tokens) } catch { errors.append(finding("control.tokens", "\(error)")) }
    }

    private mutating func checkLog() {
        let destination = AccessLog.Settings(configuration).destination
        guard let fault = AccessLogFile.fault(of: destination, store: configuration.storeFolder) else { return }
        errors.append(finding("log.to", fault))
    }

    /// Whether a running gateway uses the store, and therefore the ports and sockets.
    private var isRunning: Bool {
        configuration.storeFolder.map { ControlSocket.inStore($0).reach == .live } ?? false
    }

    private mutating func checkSockets() {
        var places: [(setting: String, location: SocketLocation)] = []
        for case .unix(let path, _, _, _, _) in configuration.listeners.isEmpty ? [] : gateway.listeners {
            places.append(("listen", GatewayListener.place(path)))
        }
        if let path = configuration.controlSocket {
            places.append(("control.socket", ControlSocket(path: URL(fileURLWithPath: path).path).location))
        }
        for (setting, location) in places {
            do throws(SocketRefusal) {
                try location.check()
            } catch {
                if error.isInUse || mayBeCreatedLater(location) {
                    if !isRunning { warnings.append(finding(setting, error.description)) }
                } else {
                    errors.append(finding(setting, error.description))
                }
            }
        }
    }

    /// Returns whether a service manager creates the socket's folder when it starts the gateway:
    /// `RuntimeDirectory` of systemd.
    private func mayBeCreatedLater(_ location: SocketLocation) -> Bool {
        let folder = URL(fileURLWithPath: location.path).deletingLastPathComponent().path
        return folder.hasPrefix("/run/") && access(folder, F_OK) != 0
    }

    private mutating func checkPorts() {
        errors += configuration.resolvedCollisions(of: gateway.listeners, areReplaced: false)
        let isRunning = isRunning
        for (setting, address) in addresses {
            switch PortCheck(address) {
            case .free: break
            case .unknown(let reason): errors.append(finding(setting, "'\(address)' cannot be used: \(reason)."))
            case .inUse:
                if !isRunning { warnings.append(finding(setting, "Another process listens on '\(address)'.")) }
            case .forbidden:
                warnings.append(
                    finding(
                        setting,
                        "This user (uid \(geteuid())) may not listen on '\(address)'. The gateway's user needs CAP_NET_BIND_SERVICE."
                    )
                )
            }
        }
    }

    /// The addresses with a port that the file sets.
    private var addresses: [(setting: String, address: ListenAddress)] {
        let listeners = configuration.listeners.isEmpty ? [] : gateway.listeners
        let clients = listeners.compactMap { listener -> ListenAddress? in
            if case .address(let address, _, _, _) = listener { address } else { nil }
        }
        func others(_ setting: String, _ text: String?) -> [(String, ListenAddress)] {
            (text.flatMap { try? ListenAddress($0) }).map { [(setting, $0)] } ?? []
        }
        return clients.map { ("listen", $0) } + others("control.listen", configuration.control.listen)
            + others("metrics.listen", configuration.metrics.listen)
    }
}
