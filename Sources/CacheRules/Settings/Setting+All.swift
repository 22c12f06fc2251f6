import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension Setting {
    /// All settings of a rule, in display order.
    package static let all: [Setting] = freshness + staleness + keys + storing + fields + origins

    /// The indices in ``all`` by name.
    package static let places: [String: Int] = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1.name, $0) })

    /// The names of the settings in each group: `lifetime` in `freshness`.
    package static let groups: [String: [String]] = {
        var result: [String: [String]] = [:]
        for setting in all {
            let parts = setting.name.split(separator: ".", maxSplits: 1)
            if parts.count == 2 { result[String(parts[0]), default: []].append(String(parts[1])) }
        }
        return result
    }()

    private static let freshness = [
        seconds("freshness.lifetime", \.freshness.lifetime) { $1.overrides.lifetime = $0 },
        seconds("freshness.default", \.freshness.default) { $1.overrides.defaultLifetime = $0 },
        seconds("freshness.errors", \.freshness.errors) { $1.overrides.errorLifetime = $0 },
    ]

    private static let staleness = [
        seconds("stale.while-revalidate", \.stale.whileRevalidate) { $1.overrides.staleWhileRevalidate = $0 },
        budget("stale.unreachable", \.stale.unreachable) { $1.overrides.maximumStalenessUnreachable = $0 },
        // Here, `unlimited` differs from unset: without a rule, a response that does not allow
        // stale use must not be served in place of a 5xx response. RFC 5861 §4
        budget("stale.on-error", \.stale.onError) { $1.overrides.staleIfError = $0 ?? .max },
        budget("stale.offline", \.stale.offline) { $1.overrides.maximumStalenessOffline = $0 },
        Setting(
            "stale.ignore",
            .response,
            \.stale.ignore,
            shape: Readers.directivesShape(Readers.liftable),
            read: { value throws(Refusal) in try Readers.directives(value, Readers.liftable) },
            written: Writers.directives
        ) { $1.overrides.directivesIgnoredWhenStale = $0 },
        Setting(
            "mode",
            .request,
            \.mode,
            worksWithBypass: true,
            shape: Readers.modeShape,
            read: Readers.mode,
            written: \.rawValue
        ) { $1.mode = $0 },
    ]

    private static let keys = [
        texts("ignore.parameters", .request, \.ignore.parameters, of: "names of parameters") {
            $1.target.ignoredParameters = $0
        },
        Setting(
            "ignore.fields",
            .request,
            \.ignore.fields,
            shape: .list(.text),
            read: Readers.fieldNames,
            written: { Writers.list($0.map(\.rawName)) }
        ) { names, settings in
            settings.ignoredFields = Set(names)
            settings.overrides.ignoredFields = Set(names.map(\.canonicalName))
        },
        texts("ignore.members", .request, \.ignore.members, of: "members") { $1.ignoredMembers = MemberPaths($0) },
        Setting(
            "ignore.directives",
            .response,
            \.ignore.directives,
            shape: Readers.directivesShape(Readers.ignorable),
            read: { value throws(Refusal) in try Readers.directives(value, Readers.ignorable) },
            written: Writers.directives
        ) { $1.overrides.ignoredDirectives = $0 },
        Setting(
            "vary",
            .request,
            \.vary,
            shape: Readers.listedValuesShape,
            read: Readers.listedValues,
            written: Writers.listedValues
        ) { $1.listed = $0 },
        flag("normalize.sort-parameters", .request, \.normalize.sortsParameters, worksWithBypass: true) {
            $1.target.sortsParameters = $0
        },
        texts(
            "normalize.drop-parameters",
            .request,
            \.normalize.droppedParameters,
            of: "names of parameters",
            worksWithBypass: true
        ) { names, settings in
            settings.target.droppedParameters = names.flatMap {
                $0 == RuleSettings.trackingWord ? RuleSettings.trackingParameters : [$0]
            }
        },
        Setting(
            "cookies",
            .request,
            \.cookies,
            worksWithBypass: true,
            shape: Readers.cookiesShape,
            read: Readers.cookies,
            written: Writers.cookies
        ) { $1.cookies = $0 },
        flag("normalize.accept-encoding", .request, \.normalize.acceptEncoding, worksWithBypass: true) {
            $1.normalizesAcceptEncoding = $0
        },
    ]

    private static let storing = [
        Setting("tags", .response, \.tags, shape: .list(.text), read: Readers.tags, written: Writers.list) {
            $1.tags = $0
        },
        Setting(
            "tags-from",
            .response,
            \.tagsFrom,
            worksWithBypass: true,
            shape: .list(.text),
            read: Readers.tagFields,
            written: { Writers.list($0.map(\.rawValue)) }
        ) { $1.tagFields = $0 },
        Setting(
            "store.methods",
            .request,
            \.store.methods,
            shape: .list(.text),
            read: Readers.methods,
            written: { Writers.list($0.map(\.rawValue)) }
        ) { $1.methods = Set($0) },
        Setting(
            "store.statuses",
            .response,
            \.store.statuses,
            shape: .list(.integer(200...599)),
            read: Readers.statuses,
            written: { Writers.list($0.sorted().map(String.init)) }
        ) { $1.overrides.statuses = $0 },
        size("store.largest", \.store.largest) { $1.maximumBodyLength = $0 },
        size("store.smallest", \.store.smallest) { $1.minimumBodyLength = $0 },
        Setting(
            "store.content",
            .request,
            \.store.content,
            shape: .word(["any", "graphql", "json"]),
            read: { value throws(Refusal) in
                try value.word([("any", ExchangeSettings.KeyedContent.any), ("graphql", .graphQL), ("json", .json)])
            },
            written: Writers.content
        ) { $1.keyedContent = $0 },
        Setting(
            "store.events",
            .request,
            \.store.events,
            shape: Readers.eventStreamsShape,
            read: Readers.eventStreams,
            written: Writers.eventStreams
        ) { $1.eventStreams = $0 },
        Setting(
            "store.per",
            .request,
            \.store.principal,
            shape: Readers.principalShape,
            read: Readers.principal,
            written: Writers.principal
        ) { $1.principal = $0 },
        texts("store.without-cookies", .response, \.store.withoutCookies, of: "names of cookies") {
            $1.overrides.withoutCookies = CookieNames($0)
        },
        flag("store.pin", .response, \.store.pin) { $1.isPinned = $0 },
        Setting(
            "store.after-uses",
            .response,
            \.store.afterUses,
            shape: .integer(RuleSettings.Storing.usesRange),
            read: { value throws(Refusal) in try value.integer(RuleSettings.Storing.usesRange) },
            written: { "\($0)" }
        ) { $1.leastUses = $0 },
        flag("fleet", .request, \.fleet) { $1.isForFleet = $0 },
        flag("bypass", .request, \.bypass, worksWithBypass: true) { $1.isBypassed = $0 },
        Setting(
            "credentials",
            .request,
            \.withoutCredentials,
            shape: .word(["none"]),
            read: { value throws(Refusal) in try value.word([("none", true)]) },
            written: { $0 ? "none" : "any" }
        ) { $1.admitsCredentials = !$0 },
        Setting(
            "guard",
            .response,
            \.goodDataGuard,
            shape: Readers.goodDataGuardShape,
            read: Readers.goodDataGuard,
            written: { Writers.off($0, Writers.goodDataGuard) }
        ) { $1.goodDataGuard = override($0) },
        Setting(
            "eager-refresh",
            .response,
            \.eagerRefresh,
            shape: Readers.eagerRefreshShape,
            read: Readers.eagerRefresh,
            written: { Writers.off($0) { "\($0)" } }
        ) { $1.eagerRefresh = override($0) },
    ]

    private static let fields = [
        fieldsToSet("to-origin.set", .request, \.toOrigin.set) { $1.requestFields.set = $0 },
        fieldsToRemove("to-origin.remove", .request, \.toOrigin.removed) { $1.requestFields.removed = $0 },
        fieldsToRemove("from-origin.remove", .request, \.fromOrigin.removed) { $1.fromOrigin.removed = $0 },
        Setting(
            "from-origin.vary",
            .request,
            \.fromOrigin.vary,
            shape: .list(.text),
            read: Readers.fieldNames,
            written: { Writers.list($0.map(\.rawName)) }
        ) { $1.fromOrigin.vary = $0 },
        fieldsToSet("to-client.set", .response, \.toClient.set) { $1.responseFields.set = $0 },
        fieldsToRemove("to-client.remove", .response, \.toClient.removed) { $1.responseFields.removed = $0 },
    ]

    private static let origins = [
        timeout("timeouts.soft", \.softTimeout) { $1.softTimeout = $0 },
        timeout("timeouts.hard", \.hardTimeout) { $1.hardTimeout = $0 },
        Setting(
            "breaker",
            .request,
            \.usesBreaker,
            worksWithBypass: true,
            shape: .flag,
            read: { value throws(Refusal) in
                if case .mapping = value {
                    throw Refusal("In a rule, it must be on or off. Configure breakers at the top level of the file.")
                }
                return try value.flag()
            },
            written: { $0 ? "on" : "off" }
        ) { $1.usesBreaker = $0 },
    ]
}
