import CacheRules
import HTTPCache
import HTTPCacheSemantics

/// A top-level setting: its name, how to read it, and how to show its value.
struct TopSetting: Sendable {
    /// The setting's name in a file: `store.budget`.
    let name: String
    /// The values that a file may contain.
    let shape: Shape
    let read: @Sendable (FileValue, inout Configuration) throws(Refusal) -> Void
    /// Returns the value as written in a file, or `nil` if there is neither a value nor a default.
    let written: @Sendable (Configuration) -> String?

    init(
        _ name: String,
        _ shape: Shape,
        read: @escaping @Sendable (FileValue, inout Configuration) throws(Refusal) -> Void,
        written: @escaping @Sendable (Configuration) -> String?
    ) {
        self.name = name
        self.shape = shape
        self.read = read
        self.written = written
    }

    /// The names of the settings in each group: `budget` in `store`.
    static let groups: [String: [String]] = {
        var result: [String: [String]] = [:]
        for setting in all {
            let parts = setting.name.split(separator: ".", maxSplits: 1)
            if parts.count == 2 { result[String(parts[0]), default: []].append(String(parts[1])) }
        }
        return result
    }()

    static let all: [TopSetting] =
        top + log + control + clients + health + metrics + forwardProxy + store + fleet + limits + origins

    private static let top = [
        listening,
        TopSetting(
            "threads",
            .integer(1...1024),
            read: { (value, configuration) throws(Refusal) in configuration.threads = try value.integer(1...1024) },
            written: { $0.threads.map { "\($0)" } }
        ),
        TopSetting(
            "mode",
            Readers.modeShape,
            read: { (value, configuration) throws(Refusal) in configuration.mode = try Readers.mode(value) },
            written: { ($0.mode ?? .automatic).rawValue }
        ),
    ]

    private static let clients = [
        TopSetting(
            "clients.trusted",
            .list(.text),
            read: { (value, configuration) throws(Refusal) in configuration.clients.trusted = try addresses(value) },
            written: { Writers.addresses($0.clients.trusted) }
        ),
        TopSetting(
            "clients.purgers",
            .list(.text),
            read: { (value, configuration) throws(Refusal) in configuration.clients.purgers = try addresses(value) },
            written: { Writers.addresses($0.clients.purgers) }
        ),
        TopSetting(
            "clients.cache-status",
            .words(of: Configuration.Audience.self),
            read: { (value, configuration) throws(Refusal) in
                configuration.clients.cacheStatus = try value.word(
                    Configuration.Audience.allCases.map { ($0.rawValue, $0) }
                )
            },
            written: { ($0.clients.cacheStatus ?? .everyone).rawValue }
        ),
        TopSetting(
            "clients.underscored-fields",
            .word(["drop", "pass"]),
            read: { (value, configuration) throws(Refusal) in
                configuration.clients.underscoredFields = try value.word([("drop", .drop), ("pass", .pass)])
            },
            written: { ($0.clients.underscoredFields ?? .drop).rawValue }
        ),
        TopSetting(
            "clients.trace",
            .word(["reject", "forward"]),
            read: { (value, configuration) throws(Refusal) in
                configuration.clients.forwardsTrace = try value.word([("reject", false), ("forward", true)])
            },
            written: { $0.clients.forwardsTrace == true ? "forward" : "reject" }
        ),
        TopSetting(
            "clients.request-id",
            .flag,
            read: { (value, configuration) throws(Refusal) in
                // YAML 1.1 reads 'on' and 'off' as booleans.
                let flag = try? value.flag()
                configuration.clients.identifiesRequests =
                    if let flag { flag } else { try value.word([("on", true), ("off", false)]) }
            },
            written: { $0.clients.identifiesRequests == true ? "on" : "off" }
        ),
        TopSetting(
            "clients.allow",
            .list(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.clients.lists.allow = try Readers.listedClients(value)
            },
            written: { Writers.addresses($0.clients.lists.allow) }
        ),
        TopSetting(
            "clients.deny",
            .list(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.clients.lists.deny = try Readers.listedClients(value)
            },
            written: { Writers.addresses($0.clients.lists.deny) }
        ),
    ]

    private static let store = [
        TopSetting(
            "store.path",
            .text,
            read: { (value, configuration) throws(Refusal) in configuration.store.path = try value.text("a path") },
            written: \.store.path
        ),
        size("store.budget", \.store.budget, default: 1 << 30, least: 1),
        count("store.memory", \.store.memory, default: Configuration.Store.standardMemory),
        count("store.largest-resident-body", \.store.maximumResidentBody, default: 256 << 10),
        number("store.variants-per-key", \.store.variantsPerKey, 1...10_000, default: 32),
        flag("store.secure-delete", \.store.securelyDeletes, default: false),
        flag("store.keep-offline-copies", \.store.keepsOfflineCopies, default: false),
        TopSetting("store.quotas", quotasShape, read: quotas) { configuration in
            let store = configuration.store
            func written(_ quotas: [String: Int64]) -> String {
                let items = quotas.sorted { $0.key < $1.key }.map { "\($0.key): \(Quantity.written(bytes: $0.value))" }
                return "{\(items.joined(separator: ", "))}"
            }
            var parts: [String] = []
            if !store.tagQuotas.isEmpty { parts.append("tags: \(written(store.tagQuotas))") }
            if !store.originQuotas.isEmpty { parts.append("origins: \(written(store.originQuotas))") }
            if let each = store.eachOriginQuota { parts.append("each-origin: \(Quantity.written(bytes: each))") }
            return parts.isEmpty ? nil : "{\(parts.joined(separator: ", "))}"
        },
    ]

    private static let leastResponseMemory: Int64 = 1 << 20
    /// A smaller head has no room for a URL and the fields that every client sends.
    private static let leastRequestHead: Int64 = 1 << 10
    /// Each connection may keep a head of this size in memory, before the client is known.
    private static let mostRequestHead: Int64 = 1 << 20

    private static let limits = [
        number(
            "limits.connections",
            \.limits.connections,
            1...1_000_000,
            default: Configuration.Limits.standardConnections
        ),
        TopSetting(
            "limits.connections-per-client",
            .orOff(.integer(1...1_000_000)),
            read: { (value, configuration) throws(Refusal) in
                configuration.limits.connectionsPerClient = value.isOff ? nil : try value.integer(1...1_000_000)
            },
            written: { $0.limits.connectionsPerClient.map { "\($0)" } ?? "off" }
        ),
        size("limits.request-body", \.limits.requestBody, default: 1 << 30),
        TopSetting(
            "limits.upload-rate",
            .orOff(.size),
            read: { (value, configuration) throws(Refusal) in
                configuration.limits.uploadRate = value.isOff ? 0 : try Readers.size(value)
            },
            written: {
                let rate = $0.limits.uploadRate ?? 1 << 10
                return rate > 0 ? Quantity.written(bytes: rate) : "off"
            }
        ),
        TopSetting(
            "limits.in-flight-per-origin",
            .integer(1...1_000_000),
            read: { (value, configuration) throws(Refusal) in
                configuration.options.inFlightLimit = try value.integer(1...1_000_000)
                configuration.limits.inFlightPerOrigin = configuration.options.inFlightLimit
            },
            written: { "\($0.options.inFlightLimit)" }
        ),
        TopSetting(
            "limits.waiting-per-origin",
            .integer(0...10_000_000),
            read: { (value, configuration) throws(Refusal) in
                configuration.options.waitingLimit = try value.integer(0...10_000_000)
                configuration.limits.waitingPerOrigin = configuration.options.waitingLimit
            },
            written: { "\($0.options.waitingLimit)" }
        ),
        count("limits.keyed-content", \.limits.keyedContent, default: 1 << 20),
        count(
            "limits.request-head",
            \.limits.requestHead,
            default: 64 << 10,
            least: leastRequestHead,
            most: mostRequestHead
        ),
        number("limits.tunnels", \.limits.tunnels, 1...1_000_000, default: 1000),
        TopSetting(
            "limits.response-memory",
            .size,
            read: { (value, configuration) throws(Refusal) in
                let size = Int(clamping: try sizeRead(value, least: leastResponseMemory))
                configuration.options.responseMemory = size
                configuration.limits.responseMemory = size
            },
            written: { Quantity.written(bytes: Int64($0.options.responseMemory)) }
        ),
        TopSetting(
            "limits.requests",
            Readers.requestRateShape,
            read: { (value, configuration) throws(Refusal) in
                configuration.limits.requests = try Readers.requestRate(value)
            },
            written: { Writers.requestRate($0.limits.requests) }
        ),
    ]

    private static let origins = [
        TopSetting(
            "drain.delay",
            .orOff(.duration),
            read: { (value, configuration) throws(Refusal) in configuration.drainDelay = try drainDelay(value) },
            written: {
                let standard = $0.standardDrainDelay(isControlled: !$0.control.isOff)
                return Configuration.text(drainDelay: $0.drainDelay ?? standard)
            }
        ),
        TopSetting(
            "timeouts.drain",
            .duration,
            read: { (value, configuration) throws(Refusal) in
                configuration.drainTimeout = try Readers.duration(value)
            },
            written: { Quantity.written($0.drainTimeout ?? .seconds(10)) }
        ),
        time("timeouts.connect", \.originTimeouts.connect, default: .seconds(10)),
        time("timeouts.first-byte", \.originTimeouts.firstByte, default: .seconds(60)),
        time("timeouts.idle", \.originTimeouts.idle, default: .seconds(30)),
        stall("timeouts.client", \.stallTimeouts.client),
        stall("timeouts.send", \.stallTimeouts.send),
        stall("timeouts.receive", \.stallTimeouts.receive),
        stall("timeouts.tunnel", \.stallTimeouts.tunnel),
        TopSetting(
            "timeouts.soft",
            Readers.timeoutShape,
            read: { (value, configuration) throws(Refusal) in
                configuration.options.softTimeout = try Readers.timeout(value).value
            },
            written: { $0.options.softTimeout.map(Quantity.written) ?? "off" }
        ),
        TopSetting(
            "timeouts.hard",
            Readers.timeoutShape,
            read: { (value, configuration) throws(Refusal) in
                configuration.options.hardTimeout = try Readers.timeout(value).value
            },
            written: { $0.options.hardTimeout.map(Quantity.written) ?? "off" }
        ),
        TopSetting(
            "breaker.failures",
            .integer(1...1_000_000),
            read: { (value, configuration) throws(Refusal) in
                configuration.options.breaker.failureThreshold = try value.integer(1...1_000_000)
            },
            written: { "\($0.options.breaker.failureThreshold)" }
        ),
        duration("breaker.first-probe", \.options.breaker.initialBackOff),
        duration("breaker.longest-pause", \.options.breaker.maximumBackOff),
        TopSetting(
            "guard",
            Readers.goodDataGuardShape,
            read: { (value, configuration) throws(Refusal) in
                configuration.options.goodDataGuard = try Readers.goodDataGuard(value).value
            },
            written: { $0.options.goodDataGuard.map(Writers.goodDataGuard) ?? "off" }
        ),
        TopSetting(
            "eager-refresh",
            Readers.eagerRefreshShape,
            read: { (value, configuration) throws(Refusal) in
                configuration.options.eagerRefresh = try Readers.eagerRefresh(value).value
            },
            written: { $0.options.eagerRefresh.map { "\($0)" } ?? "off" }
        ),
        duration("failure-throttle", \.options.failureThrottle, least: .zero),
    ]
}
