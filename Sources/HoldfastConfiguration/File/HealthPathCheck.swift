import CacheRules

extension Configuration {
    /// Returns findings for health checks with the same path, of which only one could be requested,
    /// and for those with the path of a route, whose requests the gateway would answer itself.
    func healthContradictions() -> [ConfigurationError.Finding] {
        let paths = [("health.path", health.path), ("health.live", health.live), ("health.ready", health.ready)]
        return paths.indices.compactMap { index in
            let (setting, path) = paths[index]
            guard let path else { return nil }
            if let other = paths[..<index].first(where: { $0.1 == path }) {
                return finding(
                    setting,
                    "It is the same path as '\(other.0)'. Each health check needs a path of its own."
                )
            }
            if path == "/" {
                return finding(setting, "It hides the start page of every route. Choose a path such as '/healthz'.")
            }
            guard let route = place(ofRouteWithPath: path, from: file(of: setting)) else { return nil }
            return finding(setting, "It is the path of \(route), whose requests it hides. Choose another path.")
        }
    }

    /// Returns the text by which messages refer to the first route with a path.
    private func place(ofRouteWithPath path: String, from own: String?) -> String? {
        func place(_ subject: String, _ other: String?, _ line: Int?) -> String {
            line.map { "\(subject) (\(Place(other ?? file, $0, from: own)))" } ?? subject
        }
        if let index = routes.firstIndex(where: { $0.path == path }) {
            return place(routes[index].subject(number: index + 1), routes[index].file, routes[index].line)
        }
        return fixedRoutes.first { $0.path == path }.map { place($0.subject, $0.file, $0.line) }
    }
}
