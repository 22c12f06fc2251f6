import CacheRules

extension Configuration {
    /// The files that a reload rereads, except those with tokens, with paths that can be opened.
    /// Files that are used only together are in one group.
    package var rereadFiles: [[String]] {
        var groups: [[String]] = []
        for tls in resolvedListeners.compactMap(\.tls) + [metricsTLS].compactMap(\.self) {
            groups += tls.certificates.map { [$0.chain, $0.key] }
            if let client = tls.client { groups.append([client.roots]) }
        }
        for origin in resolvedOrigins {
            groups.append([origin.tls.roots, origin.tls.certificate, origin.tls.key].compactMap(\.self))
        }
        groups.append(fleetTLS.paths)
        var others = [fleet.passwordFile].compactMap(\.self) + fleet.secretFiles
        for route in routes { others += [route.errorPages.offline, route.errorPages.error].compactMap { $0?.file } }
        for case .file(let path) in rules.compiled.values.keys { others.append(path) }
        return groups + others.map { [besideFile($0)] }
    }
}
