public import HoldfastConfiguration

extension GatewayRoutes {
    /// Reads the routes of a configuration.
    ///
    /// - Parameter file: the file's name, for messages.
    /// - Throws: `ConfigurationError` with a finding for each unusable route.
    public init(_ routes: [HoldfastConfiguration.Configuration.Route], file: String? = nil) throws {
        var findings: [ConfigurationError.Finding] = []
        func report(_ index: Int?, _ setting: String?, _ message: String) {
            let route = index.map { routes[$0] }
            let subject = index.map { index in routes[index].name.map { "route '\($0)'" } ?? "route \(index + 1)" }
            findings.append(
                ConfigurationError.Finding(
                    file: file,
                    line: route?.line,
                    subject: subject,
                    setting: setting,
                    message: message
                )
            )
        }
        let made = routes.enumerated().compactMap { index, route -> GatewayRoute? in
            var setting: String? = "origin"
            do {
                let origin = try GatewayOrigin(route.origin)
                setting = nil
                var made = try GatewayRoute(
                    name: route.name,
                    host: route.host,
                    path: route.path,
                    origin: origin,
                    preservesHost: route.preservesHost
                )
                made.number = route.number
                if let handling = route.unknownFields { made.unknownFields = handling }
                made.upgrades = route.upgrades
                made.rewriting = route.rewriting
                made.compresses = route.compresses
                made.errorPages = route.errorPages
                made.clients = route.clients
                made.requestRate = route.requestRate
                return made
            } catch {
                report(index, setting, "\(error)")
                return nil
            }
        }
        guard findings.isEmpty else { throw ConfigurationError(findings) }
        do {
            try self.init(made)
        } catch {
            let conflict = error as? Conflict
            report(conflict?.route, conflict == nil ? "routes" : nil, "\(error)")
            throw ConfigurationError(findings)
        }
    }
}
