import CommandLineSupport
import Holdfast
import HoldfastGateway

extension GatewayProcess {
    /// Reloads the configuration file. An invalid file is rejected as a whole, and its errors are
    /// logged.
    func reload() {
        guard let path = named.file else {
            return logger.notice("There is no configuration file to reload; nothing has changed")
        }
        let read: ServeSettings
        do {
            read = try ServeSettings(named)
        } catch let error as ConfigurationError {
            for finding in error.findings {
                logger.error(
                    "Configuration rejected; nothing has changed",
                    metadata: ["configuration.finding": "\(finding)"]
                )
            }
            return
        } catch {
            return logger.error(
                "Configuration rejected; nothing has changed",
                metadata: ["configuration.finding": "\(error)"]
            )
        }
        for setting in settings.kept(against: read) {
            logger.warning(
                "Setting changes only with a restart",
                metadata: [
                    "configuration.setting": "\(setting.setting)", "configuration.kept": "\(setting.kept)",
                    "configuration.wanted": "\(setting.wanted)",
                ]
            )
        }
        // In this order: the transport must know an origin before a request is routed to it, and a
        // request on a new route must meet the new rules.
        transport.reconfigure(routes: read.gateway.routes)
        engine.reconfigure(options: read.file.options, rules: read.rules)
        modes.configure(read.mode)
        server.reconfigure(read.gateway)
        logger.notice(
            "Configuration reloaded",
            metadata: [
                "configuration.file": "\(path)", "configuration.routes": "\(read.gateway.routes.routes.count)",
                "configuration.rules": "\(read.file.rules.rules.count)", "configuration.mode": "\(read.mode)",
            ]
        )
    }
}
