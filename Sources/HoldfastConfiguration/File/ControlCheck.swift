extension Configuration {
    /// Returns findings for control plane settings that contradict each other, that would send a
    /// token over a network in clear text, or that would let other machines read metrics without a
    /// token.
    func controlContradictions() -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func report(_ setting: String, _ message: String) {
            findings.append(.init(file: file, line: lines[setting], setting: setting, message: message))
        }
        if control.listen == nil {
            for (setting, isSet) in [
                ("control.hosts", !control.hosts.isEmpty), ("control.insecure", control.isInsecure),
            ] where isSet {
                report(
                    setting,
                    "It has no effect without 'control.listen'. Set 'control.listen', or remove this setting."
                )
            }
            if !control.tokens.isEmpty, clients.purgers.isEmpty {
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
        if control.isReachableFromOthers, !control.isInsecure {
            report(
                "control.listen",
                "\(shown(control.listen ?? "")) is reachable from other machines, so tokens would cross the network without TLS. "
                    + "Listen on '127.0.0.1' behind a proxy or a tunnel with TLS, or set 'control.insecure: true'."
            )
        }
        if metrics.isReachableFromOthers {
            report(
                "metrics.listen",
                "\(shown(metrics.listen ?? "")) is reachable from other machines, and requires no token. "
                    + "Listen on '127.0.0.1', or let Prometheus scrape 'control.listen' with a token."
            )
        }
        return findings
    }
}
