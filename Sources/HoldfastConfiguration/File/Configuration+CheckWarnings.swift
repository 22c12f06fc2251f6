package import CacheRules
import HTTPCacheSemantics

extension Configuration {
    /// Warnings about valid settings that probably do not do what their author meant, for
    /// `holdfast check`.
    package var checkWarnings: [ConfigurationError.Finding] {
        [
            readingWarnings, homeWarnings, memoryWarnings, loopWarnings, portWarnings, redirectWarnings, listWarnings,
            trustWarnings, networkWarnings, quotaWarnings, preservedHostWarnings, timeoutWarnings,
            rules.sharingWarnings, rules.effectWarnings,
        ].flatMap(\.self)
    }

    private var homeWarnings: [ConfigurationError.Finding] {
        guard let path = store.path, path.hasPrefix("~") else { return [] }
        return [
            finding(
                "store.path",
                "'~' is not expanded: \(shown(path)) is next to the configuration file. Write the whole path."
            )
        ]
    }

    /// A warning about memory for more than the disk keeps.
    private var memoryWarnings: [ConfigurationError.Finding] {
        guard let memory = store.memory, let budget = store.budget, memory > budget else { return [] }
        return [finding("store.memory", "It is more than 'store.budget', so a part of it is never used. Lower it.")]
    }

    /// Warnings about routes whose scheme and port are not used together.
    private var portWarnings: [ConfigurationError.Finding] {
        routes.enumerated().compactMap { index, route -> ConfigurationError.Finding? in
            guard let target = try? TargetURI(route.origin) else { return nil }
            let other: String
            switch (target.scheme, target.port) {
            case ("https", 80): other = "http"
            case ("http", 443): other = "https"
            default: return nil
            }
            return .init(
                file: route.file ?? file,
                line: route.line,
                subject: route.subject(number: index + 1),
                setting: "origin",
                message: "\(shown(route.origin)) has the port of '\(other)'. Correct the scheme or the port."
            )
        }
    }

    /// Warnings about routes to an address of `listen`.
    private var loopWarnings: [ConfigurationError.Finding] {
        let own = listeners.compactMap { listener -> ListenerAddress? in
            if case .address(let address, _, _, _) = listener { ListenerAddress(address) } else { nil }
        }
        return routes.enumerated().compactMap { index, route -> ConfigurationError.Finding? in
            guard let target = try? TargetURI(route.origin),
                own.contains(where: { $0.isReached(at: ListenerAddress("\(target.host):\(target.port)")) })
            else { return nil }
            return .init(
                file: route.file ?? file,
                line: route.line,
                subject: route.subject(number: index + 1),
                setting: "origin",
                message:
                    "\(shown(route.origin)) leads back to this gateway ('listen'). Write the address of the origin."
            )
        }
    }
}
