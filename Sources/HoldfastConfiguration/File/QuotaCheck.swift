import CacheRules

extension Configuration {
    /// Returns findings for quotas that have no effect.
    ///
    /// - Parameter hasAllRoutes: whether all routes of the file could be read.
    func quotaContradictions(hasAllRoutes: Bool) -> [ConfigurationError.Finding] {
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
        guard !store.originQuotas.isEmpty, hasAllRoutes else { return findings }
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

    /// Returns findings for limits that are above the limit of the whole.
    ///
    /// - Parameter refused: the settings whose values could not be read.
    func excessContradictions(refused: Set<String>) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func report(_ setting: String, moreThan whole: String, _ standard: String, _ effect: String) {
            let place = place(of: whole, from: file(of: setting)).map { "\($0)" } ?? "\(standard) by default"
            findings.append(finding(setting, "It is more than '\(whole)' (\(place)), so \(effect). Lower it."))
        }
        let connections = limits.connections ?? Limits.standardConnections
        if let each = limits.connectionsPerClient, each > connections, !refused.contains("limits.connections") {
            report(
                "limits.connections-per-client",
                moreThan: "limits.connections",
                "\(connections)",
                "it has no effect"
            )
        }
        let memory = store.memory ?? Store.standardMemory
        if let largest = store.maximumResidentBody, largest > memory, !refused.contains("store.memory") {
            report(
                "store.largest-resident-body",
                moreThan: "store.memory",
                Quantity.written(bytes: Int64(clamping: memory)),
                "memory cannot hold such a body"
            )
        }
        return findings
    }

    /// Warnings about quotas for tags that no response can have. An application sets tags itself.
    var quotaWarnings: [ConfigurationError.Finding] {
        let originsSetTags =
            routes.contains { !$0.tagsFrom.isEmpty } || rules.rules.contains { $0.settings.tagsFrom?.isEmpty == false }
        guard isForGateway, !originsSetTags else { return [] }
        let known = Set(rules.rules.flatMap { $0.settings.tags ?? [] })
        return store.tagQuotas.keys.filter { !known.contains($0) }.sorted().map { tag in
            let advice = nearest(to: tag, of: known.sorted()).map { " Did you mean '\($0)'?" } ?? ""
            return finding(
                "store.quotas",
                "The quota of \(shown(tag)) limits nothing, because no rule sets this tag ('tags'), and no origin does ('tags-from').\(advice)"
            )
        }
    }
}
