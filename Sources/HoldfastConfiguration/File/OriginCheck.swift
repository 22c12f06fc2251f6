import CacheRules
import HTTPCacheSemantics

extension Configuration {
    /// Returns findings for `origins` settings that contradict each other or have no effect.
    ///
    /// - Parameters:
    ///   - hasAllRoutes: whether all routes of the file could be read.
    ///   - hasAllOrigins: whether all members of `origins` could be read.
    func originContradictions(hasAllRoutes: Bool, hasAllOrigins: Bool) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        let routed = Set(routes.compactMap { (try? TargetURI($0.origin)).map(Self.name) })
        // Without routes, the origin is given on the command line.
        let knowsRoutes = hasAllRoutes && (!routes.isEmpty || forwardProxy.isOn)
        func isRouted(_ origin: Origin) -> Bool {
            routed.contains(origin.url)
                || (try? TargetURI(origin.url)).map { forwardProxy.leads(to: $0.host) } ?? false
        }
        let mirrors = Set(origins.flatMap(\.mirrors).compactMap { (try? TargetURI($0)).map(Self.name) })
        for origin in origins {
            func report(_ setting: String?, _ message: String) {
                findings.append(
                    .init(
                        file: origin.file ?? file,
                        line: origin.line,
                        subject: "origin '\(origin.url)'",
                        setting: setting,
                        message: message
                    )
                )
            }
            if knowsRoutes, hasAllOrigins, !isRouted(origin), !mirrors.contains(origin.url) {
                report(
                    nil,
                    "No route leads to it, and it is not a mirror. Set it as a route's 'origin', or remove it."
                )
            }
            if !origin.mirrors.isEmpty,
                let index = routes.firstIndex(where: {
                    $0.preservesHost && (try? TargetURI($0.origin)).map(Self.name) == origin.url
                })
            {
                report(
                    "mirrors",
                    "\(routes[index].subject(number: index + 1)) preserves the client's host, which mirrors do not get, so all hosts would have the same "
                        + "content. Remove 'preserve-host' there, or use 'addresses' here."
                )
            }
            if knowsRoutes, !isRouted(origin), mirrors.contains(origin.url) {
                for setting in origin.settingsForRoutes {
                    report(
                        setting,
                        "It has no effect: this origin is only a mirror, and no route leads to it. Remove it."
                    )
                }
            }
            if origin.takesCredentials, hasAllOrigins, !mirrors.contains(origin.url) {
                report("credentials", "It has no effect: no origin lists this one in 'mirrors'. Remove it.")
            }
            origin.check(report)
        }
        return findings
    }

    fileprivate static func name(_ target: TargetURI) -> String { "\(target.scheme)://\(target.authority)" }
}

extension Configuration.Origin {
    fileprivate func check(_ report: (_ setting: String?, _ message: String) -> Void) {
        checkTLS(report)
        let hasTLS = url.hasPrefix("https:")
        if isInsecure, warnings.isEmpty {
            let reason = hasTLS ? "all connections are protected" : "no connection to an http origin is protected"
            report("insecure", "It has no effect, because \(reason). Remove it.")
        }
        if !isInsecure, !tls.isVerified, hasTLS {
            report(
                "verify",
                "Without verification, anyone on the network path can read and change the traffic. Set the certificate's issuer with 'ca', "
                    + "or add 'insecure: true'."
            )
        }
        if !isInsecure, let mirror = unprotectedMirrors.first {
            report(
                "mirrors",
                "'\(mirror)' does not use TLS, but the origin does, so anyone on the network path could change the stored responses. "
                    + "Use an https URL, or add 'insecure: true'."
            )
        }
        if mirrors.contains(url) { report("mirrors", "'\(url)' is the origin itself. Remove it.") }
        for mirror in mirrors where mirror != url && (try? TargetURI(mirror)).map(Configuration.name) == url {
            report(
                "mirrors",
                "'\(mirror)' is on the origin's own server, so it fails together with the origin. Use another server, or remove it."
            )
        }
        if balance == .roundRobin, !hasSeveralServers {
            report(
                "balance",
                "It has no effect, because the origin has one server. Add 'addresses' or 'mirrors', or remove it."
            )
        }
    }

    /// The settings that have a value but no effect if the origin is only a mirror of another
    /// origin.
    fileprivate var settingsForRoutes: [String] {
        [
            ("addresses", !addresses.isEmpty), ("mirrors", !mirrors.isEmpty), ("balance", balance != .listed),
            ("health", health != nil),
        ].filter(\.1).map(\.0)
    }

    private func checkTLS(_ report: (_ setting: String?, _ message: String) -> Void) {
        if !url.hasPrefix("https:"), tls.isSet {
            return report(
                nil,
                "Its TLS settings have no effect, because it is an http origin. Use an https URL, or remove the settings."
            )
        }
        switch (tls.certificate, tls.key) {
        case (_?, nil): report("certificate", "It needs 'key', the PEM file with its private key.")
        case (nil, _?): report("key", "It needs 'certificate', the PEM file of the certificate.")
        case (nil, nil), (_?, _?): break
        }
        if !tls.isVerified, tls.roots != nil {
            report("ca", "It has no effect with 'verify: false'. Remove one of them.")
        }
        if !addresses.isEmpty, tls.isVerified, tls.serverName == nil, url.hasPrefix("https:"),
            let target = try? TargetURI(url), OriginReader.isAddress(target.host)
        {
            report(
                "addresses",
                "The certificate cannot be checked, because the origin is an IP address. Set 'server-name' to the host in the certificate."
            )
        }
    }
}

extension Configuration.Origin {
    /// Returns the origin's settings, for people and programs.
    func effective(_ inherited: Configuration) -> EffectiveConfiguration.Part {
        func setting(_ name: String, _ value: String?, isSet: Bool? = nil) -> EffectiveConfiguration.Setting {
            EffectiveConfiguration.Setting(
                name: name,
                value: written[name] ?? value,
                isDefault: !(isSet ?? (value != nil)) && written[name] == nil
            )
        }
        var settings: [EffectiveConfiguration.Setting] = []
        if url.hasPrefix("https:") {
            settings += [
                setting("ca", tls.roots ?? "(the system's)", isSet: tls.roots != nil),
                setting("certificate", tls.certificate), setting("key", tls.key),
                setting("server-name", tls.serverName),
                setting("verify", "\(tls.isVerified)", isSet: !tls.isVerified),
                setting("insecure", "\(isInsecure)", isSet: isInsecure),
            ]
        }
        settings += [
            setting("addresses", addresses.isEmpty ? nil : Writers.list(addresses)),
            setting("mirrors", mirrors.isEmpty ? nil : Writers.list(mirrors)),
            setting("balance", balance.rawValue, isSet: balance != .listed),
            setting("credentials", "\(takesCredentials)", isSet: takesCredentials),
            setting("health", health?.text ?? "off", isSet: health != nil),
        ]
        let times: [(String, Duration?, Duration)] = [
            ("connect", timeouts.connect, inherited.connectTime(of: self)),
            ("first-byte", timeouts.firstByte, inherited.originTimeouts.firstByte ?? .seconds(60)),
            ("send", timeouts.send, inherited.stallTimeouts.send ?? .seconds(60)),
            ("receive", timeouts.receive, inherited.stallTimeouts.receive ?? .seconds(60)),
            ("idle", timeouts.idle, inherited.originTimeouts.idle ?? .seconds(30)),
        ]
        settings += times.map { name, own, other in
            let reference = own == nil ? inherited.reference(in: "timeouts.\(name)") : nil
            return setting("timeouts.\(name)", reference ?? Quantity.written(own ?? other), isSet: own != nil)
        }
        let file = file == inherited.file ? nil : file
        return EffectiveConfiguration.Part(name: url, line: line, file: file, conditions: [], settings: settings)
    }

    /// Whether the gateway can try another server.
    package var hasSeveralServers: Bool { max(1, addresses.count) + mirrors.count > 1 }
}

extension Configuration {
    /// Returns the time limit for opening a connection to an origin's server. The default is short
    /// if another server can be tried.
    package func connectTime(of origin: Origin) -> Duration {
        origin.timeouts.connect ?? originTimeouts.connect ?? (origin.hasSeveralServers ? .seconds(2) : .seconds(10))
    }
}

extension Configuration.Origin.HealthCheck {
    fileprivate var text: String {
        let statuses =
            expected.count == 1 ? "\(expected.lowerBound)" : "\(expected.lowerBound)-\(expected.upperBound)"
        return
            "{path: \(path), interval: \(Quantity.written(interval)), timeout: \(Quantity.written(timeout)), expect: \(statuses)}"
    }
}
