import CacheRules
import HTTPCacheSemantics

/// Reads a member of `origins`. Each refusal includes its own line number.
enum OriginReader {
    /// The settings of an origin.
    static let settings: [PartSetting<Configuration.Origin>] = [
        PartSetting("ca", .text) { (value, origin) throws(Refusal) in origin.tls.roots = try file(value) },
        PartSetting("certificate", .text) { (value, origin) throws(Refusal) in
            origin.tls.certificate = try file(value)
        },
        PartSetting("key", .text) { (value, origin) throws(Refusal) in origin.tls.key = try file(value) },
        PartSetting("server-name", .text) { (value, origin) throws(Refusal) in
            origin.tls.serverName = try serverName(value)
        },
        PartSetting("verify", .flag) { (value, origin) throws(Refusal) in origin.tls.isVerified = try value.flag() },
        PartSetting("insecure", .flag) { (value, origin) throws(Refusal) in origin.isInsecure = try value.flag() },
        PartSetting("addresses", .list(.text)) { (value, origin) throws(Refusal) in
            origin.addresses = try addresses(value)
        },
        PartSetting("mirrors", .list(.text)) { (value, origin) throws(Refusal) in
            origin.mirrors = try mirrors(value)
        },
        PartSetting("balance", .words(of: Configuration.Origin.Balance.self)) { (value, origin) throws(Refusal) in
            origin.balance = try value.word(Configuration.Origin.Balance.allCases.map { ($0.rawValue, $0) })
        },
        PartSetting("credentials", .flag) { (value, origin) throws(Refusal) in
            origin.takesCredentials = try value.flag()
        },
        PartSetting("health", .orOff(healthShape)) { (value, origin) throws(Refusal) in
            origin.health = value.isOff ? nil : try health(value)
        },
        PartSetting("timeouts", timeoutsShape) { (value, origin) throws(Refusal) in
            origin.timeouts = try timeouts(value)
        },
    ]
    private static let timeoutKeys = ["connect", "first-byte", "send", "receive", "idle"]
    private static let timeoutsShape = Shape.mapping(timeoutKeys.map { .init($0, .duration) })
    private static let healthShape = Shape.mapping([
        .init("path", .text, isRequired: true), .init("interval", .duration), .init("timeout", .duration),
        .init("expect", .text),
    ])
    private static let healthKeys = ["path", "interval", "timeout", "expect"]

    /// Reads the name of an origin and returns it in the form that metrics and logs use.
    static func url(_ entry: FileValue.Entry) throws(Refusal) -> String {
        guard let target = try? TargetURI(entry.key), target.query == nil, !entry.key.contains("#") else {
            let fault = "\(shown(entry.key)) is not an origin such as 'https://api.example.com'."
            let advice = advice(onMissingScheme: entry.key).map { " " + $0 } ?? ""
            throw Refusal(fault + advice, line: entry.line)
        }
        guard target.path == "/" else {
            throw Refusal(
                "\(shown(entry.key)) has a path, which an origin must not have. Write '\(target.scheme)://\(target.authority)'.",
                line: entry.line
            )
        }
        return "\(target.scheme)://\(target.authority)"
    }

    /// Returns the next step for a URL that lacks only its scheme; `nil` for any other text.
    static func advice(onMissingScheme text: String) -> String? {
        guard !text.contains("://"), (try? TargetURI("http://\(text)")) != nil else { return nil }
        return "Write \(shown("http://\(text)")), or \(shown("https://\(text)")) if it uses TLS."
    }

    private static func file(_ value: FileValue) throws(Refusal) -> String {
        try value.text("the path of a PEM file")
    }

    private static func serverName(_ value: FileValue) throws(Refusal) -> String {
        let name = try value.text("a host such as 'api.example.com'")
        guard let target = try? TargetURI("https://\(name)/"), !name.hasPort else {
            throw Refusal("\(value.shown) is not a host such as 'api.example.com'.", line: value.line)
        }
        guard !isAddress(target.host) else {
            throw Refusal(
                "\(value.shown) is an IP address, but TLS sends only names. Remove 'server-name' if the certificate contains the address.",
                line: value.line
            )
        }
        return target.host
    }

    /// Returns whether a host is an IP address.
    static func isAddress(_ host: String) -> Bool {
        host.hasPrefix("[") || AddressRange(host) != nil && host != "unix"
    }

    private static func addresses(_ value: FileValue) throws(Refusal) -> [String] {
        try servers(value, "'HOST:PORT'", "addresses") { (item) throws(Refusal) in
            let text = try item.text("'HOST:PORT'")
            guard text.hasPort, !text.hasSuffix(":"), let target = try? TargetURI("http://\(text)/"),
                !text.contains(where: { "/@?#".contains($0) })
            else {
                throw Refusal("\(item.shown) is not a host and port such as '10.0.0.7:443'.", line: item.line)
            }
            return "\(target.host):\(target.port)"
        }
    }

    private static func mirrors(_ value: FileValue) throws(Refusal) -> [String] {
        try servers(value, "a URL", "mirrors") { (item) throws(Refusal) in
            let text = try item.text("a URL such as 'https://mirror.example.com'")
            guard let target = try? TargetURI(text), target.query == nil, !text.contains("#") else {
                throw Refusal(
                    "\(item.shown) is not a mirror such as 'https://mirror.example.com', an http or https URL without a query or fragment.",
                    line: item.line
                )
            }
            guard !PathNormalForm.hasDotSegment(target.path) else {
                throw Refusal(
                    "The path of \(item.shown) has dot segments. Write the resolved path.",
                    line: item.line
                )
            }
            return "\(target.scheme)://\(target.authority)\(PathPrefix(target.path).text)"
        }
    }

    private static func servers(
        _ value: FileValue,
        _ expected: String,
        _ kind: String,
        _ read: (FileValue) throws(Refusal) -> String
    ) throws(Refusal) -> [String] {
        let items = try value.list(of: expected)
        let limit = Configuration.Origin.serverLimit
        guard items.count <= limit else {
            throw Refusal("There are \(items.count) \(kind). The limit is \(limit).", line: value.line)
        }
        var result: [String] = []
        for item in items {
            let text = try read(item)
            guard !result.contains(text) else {
                throw Refusal("'\(text)' is listed twice. Remove one of them.", line: item.line)
            }
            result.append(text)
        }
        return result
    }

    private static func timeouts(_ value: FileValue) throws(Refusal) -> Configuration.OriginTimeouts {
        var timeouts = Configuration.OriginTimeouts()
        for entry in try value.entries("times (\(timeoutKeys.joined(separator: ", ")))") {
            switch entry.key {
            case "connect": timeouts.connect = try part(entry, time)
            case "first-byte": timeouts.firstByte = try part(entry, time)
            case "send": timeouts.send = try part(entry, time)
            case "receive": timeouts.receive = try part(entry, time)
            case "idle": timeouts.idle = try part(entry, time)
            default: throw Readers.unknown(entry, of: timeoutKeys, in: "timeouts")
            }
        }
        return timeouts
    }

    /// Reads a part of a setting. A refusal names the part, because one line may contain several.
    private static func part<Result>(
        _ entry: FileValue.Entry,
        _ read: (FileValue) throws(Refusal) -> Result
    ) throws(Refusal) -> Result {
        do throws(Refusal) {
            return try read(entry.value)
        } catch {
            throw Refusal("'\(entry.key)': \(error.message)", line: error.line ?? entry.line)
        }
    }

    /// Reads a time limit, which must be above zero.
    static func time(_ value: FileValue) throws(Refusal) -> Duration {
        let time = try Readers.duration(value)
        guard time > .zero else { throw Refusal("A timeout must be more than 0 s.", line: value.line) }
        return time
    }

    private static func health(_ value: FileValue) throws(Refusal) -> Configuration.Origin.HealthCheck {
        var check = Configuration.Origin.HealthCheck(path: "")
        var timeout: Duration?
        for entry in try value.entries("'{path: /healthz}', or 'off'") {
            switch entry.key {
            case "path": check.path = try part(entry, checkedPath)
            case "interval": check.interval = try part(entry, interval)
            case "timeout": timeout = try part(entry, time)
            case "expect": check.expected = try part(entry, statuses)
            default: throw Readers.unknown(entry, of: healthKeys)
            }
        }
        guard !check.path.isEmpty else {
            throw Refusal(
                "A health check needs 'path', the path to request, such as '/healthz'.",
                line: value.line
            )
        }
        check.timeout = timeout ?? min(check.timeout, check.interval)
        guard check.timeout <= check.interval else {
            throw Refusal(
                "'timeout' is longer than 'interval', so checks would overlap. Shorten 'timeout'.",
                line: value.line
            )
        }
        return check
    }

    private static func checkedPath(_ value: FileValue) throws(Refusal) -> String {
        let path = try value.text("a path such as '/healthz'")
        guard path.hasPrefix("/"), path.utf8.count <= 1024,
            path.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "#") })
        else {
            throw Refusal(
                "\(value.shown) is not a path such as '/healthz'. A path begins with a slash and has at most 1024 visible ASCII characters except '#'.",
                line: value.line
            )
        }
        guard !PathNormalForm.hasDotSegment(path) else {
            throw Refusal("\(value.shown) has dot segments. Write the resolved path.", line: value.line)
        }
        return path
    }

    private static func interval(_ value: FileValue) throws(Refusal) -> Duration {
        let interval = try time(value)
        guard interval >= .milliseconds(100), interval <= .seconds(86_400) else {
            throw Refusal("\(value.shown) is not between 100 ms and 1 d.", line: value.line)
        }
        return interval
    }

    private static func statuses(_ value: FileValue) throws(Refusal) -> ClosedRange<Int> {
        let text = try value.text("statuses such as '200-399'")
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard (1...2).contains(parts.count), let first = parts[0], let last = parts[parts.count - 1],
            200 <= first, first <= last, last <= 599
        else {
            throw Refusal(
                "\(value.shown) is not a status or a range such as '200-399', within 200 to 599.",
                line: value.line
            )
        }
        return first...last
    }
}
