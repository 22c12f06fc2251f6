package import CacheRules

extension Configuration {
    /// Returns findings for control plane settings that contradict each other, that would send a
    /// token over a network in clear text, or that would let other machines read metrics although
    /// no setting says so.
    ///
    /// - Parameter refused: the settings whose values could not be read.
    func controlContradictions(refused: Set<String>) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func report(_ setting: String, _ message: String) { findings.append(finding(setting, message)) }
        func reportWithout(_ needed: String, _ settings: [(name: String, isSet: Bool)]) {
            for setting in settings where setting.isSet && !refused.contains(needed) {
                report(setting.name, "It has no effect without '\(needed)'. Set '\(needed)', or remove this setting.")
            }
        }
        if control.listen == nil {
            // The hosts are also those of the port for metrics.
            let hasHosts = !control.hosts.isEmpty && metrics.listen == nil && !refused.contains("metrics.listen")
            reportWithout("control.listen", [("control.hosts", hasHosts), ("control.insecure", control.isInsecure)])
            if !control.tokens.isEmpty, clients.purgers.isEmpty,
                refused.isDisjoint(with: ["control.listen", "clients.purgers"])
            {
                report(
                    "control.tokens",
                    "It has no effect without 'control.listen' or 'clients.purgers'. Set one of them, or remove this setting."
                )
            }
        }
        if control.isOff {
            for (setting, isSet) in [
                ("control.listen", control.listen != nil), ("metrics.listen", metrics.listen != nil),
                ("clients.purgers", !clients.purgers.isEmpty),
            ] where isSet {
                report(
                    setting,
                    "'control.socket: off' disables the whole control plane. Remove one of the two settings."
                )
            }
        }
        if control.isReachableFromOthers, !control.isInsecure, !refused.contains("control.insecure") {
            report(
                "control.listen",
                "\(shown(control.listen ?? "")) is reachable from other machines, so tokens would cross the network without TLS. "
                    + "Listen on '127.0.0.1' behind a proxy or a tunnel with TLS, or set 'control.insecure: true'."
            )
        }
        if metrics.listen == nil {
            reportWithout(
                "metrics.listen",
                [
                    ("metrics.public", metrics.isPublic), ("metrics.token", metrics.token != nil),
                    ("metrics.tls", metrics.tls != nil),
                ]
            )
        }
        if metrics.isReachableFromOthers, !metrics.isPublic, !refused.contains("metrics.public") {
            report(
                "metrics.listen",
                "\(shown(metrics.listen ?? "")) is reachable from other machines. Listen on '127.0.0.1', or set 'metrics.public: true' "
                    + "to serve the metrics to other machines; 'metrics.token' and 'metrics.tls' restrict who can read them."
            )
        }
        return findings + sharedAddresses()
    }

    /// Returns findings for addresses of `control` and `metrics` that another listener of the file
    /// has.
    private func sharedAddresses() -> [ConfigurationError.Finding] {
        let clients = listeners.compactMap { listener -> String? in
            if case .address(let address, _, _, _) = listener { address } else { nil }
        }
        return sharedAddresses(with: clients) { own in
            "'listen'" + (place(of: "listen", from: file(of: own)).map { " (\($0))" } ?? "")
        }
    }

    /// Returns findings for addresses of `control` and `metrics` that listeners outside the file
    /// have: the default, or those that replace `listen`.
    package func sharedAddresses(with clients: [String], areDefault: Bool) -> [ConfigurationError.Finding] {
        let name = areDefault ? "'listen' by default" : "the listeners that replace 'listen'"
        return sharedAddresses(with: clients) { _ in name }.map { references.hide(in: $0) }
    }

    /// Returns findings for addresses that two listeners have. Only one of them could be opened.
    ///
    /// - Parameter name: returns the text that names the place of the clients' addresses.
    private func sharedAddresses(
        with clients: [String],
        _ name: (_ own: String) -> String
    ) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        var others = clients.map { (address: $0, setting: String?.none) }
        for (setting, address) in [("control.listen", control.listen), ("metrics.listen", metrics.listen)] {
            guard let address else { continue }
            if let other = others.first(where: { ListenerAddress($0.address).collides(with: ListenerAddress(address)) })
            {
                let named = other.setting.map { known in
                    "'\(known)'" + (place(of: known, from: file(of: setting)).map { " (\($0))" } ?? "")
                }
                let same = other.address == address ? "also in" : "also used by \(shown(other.address)) in"
                findings.append(
                    finding(setting, "\(shown(address)) is \(same) \(named ?? name(setting)). Choose another port.")
                )
            }
            others.append((address, setting))
        }
        return findings
    }
}
