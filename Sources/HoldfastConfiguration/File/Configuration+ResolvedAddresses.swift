package import CacheRules

extension Configuration {
    /// Returns findings for addresses that only one listener could open, although they are written
    /// differently: a name and its address. Addresses that collide as written are found when the
    /// file is read.
    ///
    /// - Parameters:
    ///   - listeners: the addresses for clients, as in `listen`.
    ///   - areReplaced: whether they are not those of the file.
    ///   - resolve: returns `127.0.0.1:80` for `localhost:80`; `nil` if the name does not resolve.
    ///     It is called only for addresses that share a port.
    package func resolvedCollisions(
        of listeners: [String],
        areReplaced: Bool,
        resolving resolve: (String) -> String?
    ) -> [ConfigurationError.Finding] {
        let own = [("control.listen", control.listen), ("metrics.listen", metrics.listen)]
        let all = listeners.map { ("listen", $0) } + own.compactMap { name, text in text.map { (name, $0) } }
        let written = all.map { Written(setting: $0.0, text: $0.1) }
        var findings: [ConfigurationError.Finding] = []
        var known: [(written: Written, resolved: String)] = []
        for address in written {
            let others = written.count { $0.address.hasPort(of: address.address) }
            guard others > 1, let resolved = resolve(address.text) else { continue }
            let other = known.first {
                ListenerAddress($0.resolved).collides(with: ListenerAddress(resolved))
                    && !$0.written.address.collides(with: address.address)
            }
            known.append((address, resolved))
            guard let other else { continue }
            func isReplaced(_ address: Written) -> Bool { address.setting == "listen" && areReplaced }
            let line = place(of: other.written.setting, from: file(of: address.setting)).map { " (\($0))" } ?? ""
            let list =
                isReplaced(other.written)
                ? "the listeners that replace 'listen'" : "'\(other.written.setting)'\(line)"
            let message = Self.collision(address.text, resolved, with: other.written.text, other.resolved, in: list)
            let found = isReplaced(address) ? .init(message: message) : finding(address.setting, message)
            findings.append(references.hide(in: found))
        }
        return findings
    }

    /// An address as written.
    private struct Written {
        let setting: String
        let text: String

        var address: ListenerAddress { ListenerAddress(text) }
    }

    private static func collision(
        _ text: String,
        _ resolved: String,
        with other: String,
        _ otherResolved: String,
        in list: String
    ) -> String {
        func named(_ text: String, _ resolved: String) -> String {
            text == resolved ? shown(text) : "\(shown(text)) is \(resolved)"
        }
        let advice = "Choose another port, or remove one of them."
        if other == resolved { return "\(named(text, resolved)), also in \(list). \(advice)" }
        if text == otherResolved {
            return "\(shown(text)) is also in \(list): \(named(other, otherResolved)). \(advice)"
        }
        return "\(named(text, resolved)), also used by \(shown(other)) in \(list). \(advice)"
    }
}
