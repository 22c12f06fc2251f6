import CacheRules

extension Configuration {
    /// Returns findings for quotas that have no effect.
    func quotaContradictions() -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func report(_ message: String) { findings.append(finding("store.quotas", message)) }
        if let budget = store.budget {
            var quotas = store.originQuotas.merging(store.tagQuotas) { first, _ in first }
                .sorted { $0.key < $1.key }.map { (subject: "The quota of \(shown($0.key))", size: $0.value) }
            if let each = store.eachOriginQuota { quotas.append(("'each-origin'", each)) }
            for (subject, size) in quotas where size > budget {
                report(
                    "\(subject) (\(Quantity.written(bytes: size))) exceeds 'store.budget' (\(Quantity.written(bytes: budget))), so it has no effect. Lower it."
                )
            }
        }
        guard !store.originQuotas.isEmpty else { return findings }
        let targets = routes.compactMap { RouteTargets($0) }
        // Without routes, the origin is given on the command line.
        guard !targets.isEmpty, targets.count == routes.count else { return findings }
        for origin in store.originQuotas.keys.sorted() {
            guard let pattern = try? CompiledPattern(URLPattern("\(origin)/**")),
                !targets.contains(where: { $0.haveOrigin(of: pattern) })
            else { continue }
            report("The quota of '\(origin)' has no effect, because no route leads to it. Correct or remove it.")
        }
        return findings
    }
}
