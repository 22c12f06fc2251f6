import CommandLineSupport
import Foundation
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway
import LibC
import LocalSockets
import OfflineStore

/// Takes over the listeners of the gateway that runs on the same store: `--takeover`.
///
/// Everything that can fail is done before that gateway releases the store, because then there is
/// no way back.
struct Takeover {
    let settings: ServeSettings
    let listeners: [GatewayListener]
    let logger: Logger

    /// Returns when the running gateway has released the store.
    ///
    /// - Returns: the sockets of the listeners; none if no gateway is running.
    /// - Throws: `CommandFailure`, or `ExitCode` after writing the configuration's errors. The
    ///   running gateway then continues to serve, unless the message says otherwise.
    func take() throws -> [PreparedListener?] {
        try checkConfiguration()
        let location = HandoverSocket.location(inStore: URL(fileURLWithPath: settings.store).path)
        do {
            try location.checkLength()
            guard var client = try HandoverClient(to: location, user: geteuid()),
                let prepared = try client.take(prepare: { passed, freed in
                    try checkControl(freed)
                    return try PreparedListener.prepare(listeners, from: passed)
                })
            else {
                logger.notice("No gateway to take over from", metadata: ["handover.socket": "\(location.path)"])
                return []
            }
            logger.notice("Took over the listeners of the running gateway")
            return prepared
        } catch let failure as ListenFailure {
            throw CommandFailure("\(failure). The running gateway continues to serve.")
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Checks the configuration as `holdfast check` does.
    private func checkConfiguration() throws {
        _ = try ConfigurationFile.reporting {
            do {
                return try ConfigurationCheck.warnings(of: settings.file, settings.gateway)
            } catch let error as ConfigurationError {
                throw ConfigurationError(error.findings.map { settings.file.references.hide(in: $0) })
            }
        }
        do {
            // '--store' may set another folder than the file.
            try CacheManager.check(at: settings.store, configuration: settings.storage)
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Checks the ports of the control plane, which opens them itself.
    ///
    /// - Parameter freed: the addresses that the running gateway will free.
    private func checkControl(_ freed: [String]) throws {
        for address in settings.controlAddresses where !freed.contains("\(address)") {
            let reason: String
            switch PortCheck(address) {
            case .free: continue
            case .inUse: reason = "another process listens on it"
            case .forbidden: reason = "this user (uid \(geteuid())) may not listen on it"
            case .unknown(let text): reason = text
            }
            throw CommandFailure(
                "The control plane cannot listen on '\(address)': \(reason). Choose another address with "
                    + "'control.listen' or 'metrics.listen'. The running gateway continues to serve."
            )
        }
    }
}

extension ServeSettings {
    /// The addresses of the control plane's ports.
    var controlAddresses: [ListenAddress] {
        guard control != .nowhere else { return [] }
        return [file.control.listen, file.metrics.listen].compactMap { $0.flatMap { try? ListenAddress($0) } }
    }
}
