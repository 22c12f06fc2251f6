import CacheRules
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// The settings for data that the nodes of a fleet share.
extension TopSetting {
    static let fleet = [
        TopSetting(
            "fleet.url",
            .orOff(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.fleet.url = value.isOff ? nil : try address(value)
            },
            written: { $0.fleet.url }
        ),
        TopSetting(
            "fleet.password",
            .secret,
            read: { (value, configuration) throws(Refusal) in configuration.fleet.password = try secret(value) },
            written: { $0.fleet.password.map(written) }
        ),
        TopSetting(
            "fleet.tls",
            tlsShape,
            read: { (value, configuration) throws(Refusal) in configuration.fleet.tls = try tls(value) },
            written: { written($0.fleet.tls) }
        ),
        TopSetting(
            "fleet.namespace",
            .text,
            read: { (value, configuration) throws(Refusal) in
                configuration.fleet.namespace = try name(value, "-._")
            },
            written: { $0.fleet.namespace }
        ),
        TopSetting(
            "fleet.node",
            .text,
            read: { (value, configuration) throws(Refusal) in configuration.fleet.node = try name(value, "-._:") },
            written: { $0.fleet.node }
        ),
        TopSetting(
            "fleet.secret",
            .secret,
            read: { (value, configuration) throws(Refusal) in configuration.fleet.secret = try secret(value) },
            written: { $0.fleet.secret.map(written) }
        ),
        TopSetting(
            "fleet.previous-secret",
            .secret,
            read: { (value, configuration) throws(Refusal) in
                configuration.fleet.previousSecret = try secret(value)
            },
            written: { $0.fleet.previousSecret.map(written) }
        ),
        TopSetting(
            "fleet.next-secret",
            .secret,
            read: { (value, configuration) throws(Refusal) in configuration.fleet.nextSecret = try secret(value) },
            written: { $0.fleet.nextSecret.map(written) }
        ),
        TopSetting(
            "fleet.share",
            .words(of: Configuration.Fleet.Share.self),
            read: { (value, configuration) throws(Refusal) in
                configuration.fleet.share = try value.word(
                    Configuration.Fleet.Share.allCases.map { ($0.rawValue, $0) }
                )
            },
            written: { $0.fleet.share.rawValue }
        ),
        // Requests wait for peer lookups, and startup waits for ten calls.
        duration("fleet.timeout", \.fleet.timeout, most: .seconds(10)),
        TopSetting(
            "fleet.largest-body",
            .size,
            read: { (value, configuration) throws(Refusal) in
                let bytes = try Readers.size(value)
                guard (1...(256 << 20)).contains(bytes) else {
                    throw Refusal("\(value.shown) must be from 1 B to 256 MiB.")
                }
                configuration.fleet.largestBody = bytes
            },
            written: { Quantity.written(bytes: $0.fleet.largestBody) }
        ),
        duration("fleet.longest", \.fleet.longest),
        TopSetting(
            "fleet.collapse",
            collapseShape,
            read: { (value, configuration) throws(Refusal) in
                if value.isOff {
                    configuration.fleet.collapseWait = .zero
                    return
                }
                for entry in try value.entries("'wait' and 'lease', or 'off'") {
                    switch entry.key {
                    case "wait":
                        let wait = try Readers.duration(entry.value)
                        guard wait <= .seconds(60) else {
                            throw Refusal("\(entry.value.shown) is too long. The maximum is 1 m.", line: entry.line)
                        }
                        configuration.fleet.collapseWait = wait
                    case "lease":
                        let lease = try Readers.duration(entry.value)
                        guard (.milliseconds(500)...(.seconds(60))).contains(lease) else {
                            throw Refusal("\(entry.value.shown) must be from 500 ms to 1 m.", line: entry.line)
                        }
                        configuration.fleet.collapseLease = lease
                    default: throw Readers.unknown(entry, of: ["wait", "lease"])
                    }
                }
            },
            written: {
                $0.fleet.collapseWait == .zero
                    ? "off"
                    : "{wait: \(Quantity.written($0.fleet.collapseWait)), lease: \(Quantity.written($0.fleet.collapseLease))}"
            }
        ),
        TopSetting(
            "fleet.cut-off",
            .words(of: Configuration.Fleet.CutOff.self),
            read: { (value, configuration) throws(Refusal) in
                configuration.fleet.cutOff = try value.word(
                    Configuration.Fleet.CutOff.allCases.map { ($0.rawValue, $0) }
                )
            },
            written: { $0.fleet.cutOff.rawValue }
        ),
        // Heartbeats are sent every second and may be late, so a shorter lease would often expire.
        duration("fleet.lease", \.fleet.lease, least: .seconds(2), most: .seconds(3600)),
        TopSetting(
            "fleet.quorum",
            .integer(0...16),
            read: { (value, configuration) throws(Refusal) in
                configuration.fleet.quorum = try value.integer(0...16)
            },
            written: { "\($0.fleet.quorum)" }
        ),
        TopSetting(
            "fleet.acknowledge",
            .words(of: PurgeLevel.self),
            read: { (value, configuration) throws(Refusal) in
                configuration.fleet.acknowledge = try value.word(PurgeLevel.allCases.map { ($0.rawValue, $0) })
            },
            written: { $0.fleet.acknowledge.rawValue }
        ),
        TopSetting(
            "fleet.retention",
            retentionShape,
            read: { (value, configuration) throws(Refusal) in
                for entry in try value.entries("'time' and 'entries'") {
                    switch entry.key {
                    case "time":
                        let time = try Readers.duration(entry.value)
                        guard time >= .seconds(60) else {
                            throw Refusal("\(entry.value.shown) is too short. The minimum is 1 m.", line: entry.line)
                        }
                        configuration.fleet.retentionTime = time
                    case "entries":
                        configuration.fleet.retentionEntries = try entry.value.integer(1000...100_000_000)
                    default: throw Readers.unknown(entry, of: ["time", "entries"])
                    }
                }
            },
            written: {
                "{time: \(Quantity.written($0.fleet.retentionTime)), entries: \($0.fleet.retentionEntries)}"
            }
        ),
    ]

    private static let tlsShape = Shape.mapping(
        ["ca", "certificate", "key", "server-name"].map { .init($0, .text) }
    )
    private static let collapseShape = Shape.orOff(.mapping([.init("wait", .duration), .init("lease", .duration)]))
    private static let retentionShape = Shape.mapping([
        .init("time", .duration), .init("entries", .integer(1000...100_000_000)),
    ])

    private static let schemes = [
        "redis://", "rediss://", "valkey://", "valkeys://", "redis+sentinel://", "rediss+sentinel://",
        "valkey+sentinel://", "valkeys+sentinel://", "redis+cluster://", "rediss+cluster://", "valkey+cluster://",
        "valkeys+cluster://",
    ]

    private static func address(_ value: FileValue) throws(Refusal) -> String {
        let text = try value.text("an address such as 'redis://cache.internal:6379', or 'off'")
        // The rest of the URL may be a password, so the message does not repeat it.
        guard schemes.contains(where: { text.lowercased().hasPrefix($0) }) else {
            throw Refusal(
                "It must begin with 'redis://', 'redis+sentinel://' or 'redis+cluster://', or with 'rediss' for TLS. "
                    + "Write an address such as 'redis://cache.internal:6379'."
            )
        }
        let authority = text.split(separator: "@", omittingEmptySubsequences: false)
        guard authority.count < 2 || !authority[0].drop(while: { $0 != "/" }).contains(":") else {
            throw Refusal(
                "It contains a password, which must not be in this file. Use 'fleet.password: {file: PATH}' or '{env: NAME}'."
            )
        }
        return text
    }

    private static func secret(_ value: FileValue) throws(Refusal) -> Configuration.Fleet.Secret {
        switch value {
        case .mapping(let sources, _) where sources.count == 1 && sources[0].key == "env":
            return .environment(try sources[0].value.variable())
        case .mapping(let sources, _) where sources.count == 1 && sources[0].key == "file":
            return .file(try sources[0].value.text("the path of a file"))
        default:
            // The value may be the secret.
            throw Refusal("A secret must not be in this file. Write '{env: NAME}' or '{file: PATH}'.")
        }
    }

    private static func written(_ secret: Configuration.Fleet.Secret) -> String {
        switch secret {
        case .environment(let name): "(from the environment: \(name))"
        case .file(let path): "(from the file: \(path))"
        }
    }

    private static func tls(_ value: FileValue) throws(Refusal) -> Configuration.Fleet.TLS {
        var tls = Configuration.Fleet.TLS()
        for entry in try value.entries("'ca', 'certificate', 'key' and 'server-name'") {
            switch entry.key {
            case "ca": tls.roots = try entry.value.text("the path of a PEM file")
            case "certificate": tls.certificate = try entry.value.text("the path of a PEM file")
            case "key": tls.key = try entry.value.text("the path of a PEM file")
            case "server-name": tls.serverName = try entry.value.text("a host")
            default: throw Readers.unknown(entry, of: ["ca", "certificate", "key", "server-name"])
            }
        }
        return tls
    }

    private static func written(_ tls: Configuration.Fleet.TLS) -> String? {
        let parts = [
            ("ca", tls.roots), ("certificate", tls.certificate), ("key", tls.key), ("server-name", tls.serverName),
        ].compactMap { name, value in value.map { "\(name): \($0)" } }
        return parts.isEmpty ? nil : "{\(parts.joined(separator: ", "))}"
    }

    private static func name(_ value: FileValue, _ others: String) throws(Refusal) -> String {
        let name = try value.text("a name")
        let isPlain = name.utf8.allSatisfy { $0.isAlphanumeric || others.utf8.contains($0) }
        guard isPlain, (1...64).contains(name.utf8.count) else {
            throw Refusal(
                "\(value.shown) is not a valid name. A name has 1 to 64 ASCII letters, digits and '\(others)'.",
                line: value.line
            )
        }
        return name
    }
}
