extension Configuration {
    /// Returns findings for health checks with the same path, of which only one could be requested.
    func healthContradictions() -> [ConfigurationError.Finding] {
        let paths = [("health.path", health.path), ("health.live", health.live), ("health.ready", health.ready)]
        return paths.indices.compactMap { index in
            let (setting, path) = paths[index]
            guard let path, let other = paths[..<index].first(where: { $0.1 == path }) else { return nil }
            return finding(setting, "It is the same path as '\(other.0)'. Each health check needs a path of its own.")
        }
    }
}
