import CacheRules
import HTTPCache

extension Configuration {
    /// Warnings about timeouts of connections to origins that 'timeouts.hard' always ends first.
    var timeoutWarnings: [ConfigurationError.Finding] {
        guard let hard = options.hardTimeout else { return [] }
        var longest = hard
        // A rule may give some requests more time.
        for rule in rules.rules {
            switch rule.settings.hardTimeout {
            case .off?: return []
            case .on(let limit)?: longest = max(longest, limit)
            case nil: break
            }
        }
        let own = Self.excessive(originTimeouts, above: longest).map { name in
            let setting = "timeouts.\(name)"
            return finding(setting, message(about: hard, from: file(of: setting)))
        }
        let others = origins.flatMap { origin in
            let file = origin.file ?? file
            return Self.excessive(origin.timeouts, above: longest).map { name in
                ConfigurationError.Finding(
                    file: file,
                    line: origin.line,
                    subject: "origin '\(origin.url)'",
                    setting: "timeouts.\(name)",
                    message: message(about: hard, from: file)
                )
            }
        }
        return own + others
    }

    /// Returns the names of the timeouts that exceed a limit.
    private static func excessive(_ timeouts: OriginTimeouts, above limit: Duration) -> [String] {
        let all = [("connect", timeouts.connect), ("first-byte", timeouts.firstByte)]
        return all.compactMap { name, value in value.map { $0 > limit } == true ? name : nil }
    }

    /// - Parameter file: the file that contains the longer timeout.
    private func message(about hard: Duration, from file: String?) -> String {
        let place = place(of: "timeouts.hard", from: file).map { "\($0)" } ?? "\(Quantity.written(hard)) by default"
        return "It is more than 'timeouts.hard' (\(place)), which ends the request first. Raise 'timeouts.hard' too."
    }
}
