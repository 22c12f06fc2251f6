import CommandLineSupport
import Holdfast
import HoldfastGateway

extension GatewayProcess {
    /// Takes the configuration file up again: all that it says, or nothing of it.
    func reload() {
        guard let path = named.file else {
            return logger.notice("There is no configuration file to take up; everything is as it was")
        }
        let read: ServeSettings
        do {
            read = try ServeSettings(named)
        } catch let error as ConfigurationError {
            for finding in error.findings {
                logger.error(
                    "Configuration refused; everything is as it was",
                    metadata: ["configuration.finding": "\(finding)"]
                )
            }
            return
        } catch {
            return logger.error(
                "Configuration refused; everything is as it was",
                metadata: ["configuration.finding": "\(error)"]
            )
        }
        for setting in settings.kept(against: read) {
            logger.warning(
                "Setting stays until the gateway is started again",
                metadata: [
                    "configuration.setting": "\(setting.setting)", "configuration.kept": "\(setting.kept)",
                    "configuration.wanted": "\(setting.wanted)",
                ]
            )
        }
        // In this order: what a request is routed to must be reachable, and what is answered by new
        // routes is answered by new rules.
        transport.reconfigure(routes: read.gateway.routes)
        engine.reconfigure(options: read.file.options, rules: read.rules)
        engine.mode = read.mode
        server.reconfigure(read.gateway)
        logger.notice(
            "Configuration taken up",
            metadata: [
                "configuration.file": "\(path)", "configuration.routes": "\(read.gateway.routes.routes.count)",
                "configuration.rules": "\(read.file.rules.rules.count)", "configuration.mode": "\(read.mode)",
            ]
        )
    }
}
