import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Testing

/// Stored responses, a request and an instant, generated from a seed: the same for the same seed.
struct ExplainedCase: CustomStringConvertible {
    struct Stored {
        var head: StoredResponseHead
        var body: String
        var isCommon: Bool
    }

    static let url = "https://a.example/feed?page=1"
    static let start = ManualClock().now()

    var kind: CacheKind
    var mode: OfflineMode
    var eagerRefresh: Double?
    /// An operator's rules; `nil` for none.
    var settings: ExchangeSettings?
    var request: CacheRequest
    /// In the order in which they are stored.
    var stored: [Stored]
    /// The number of stored responses that are invalidated.
    var invalidated: Int
    /// The cause of the invalidation.
    var cause = InvalidationCause.unspecified
    var now: Timestamp

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        kind = random.chance(0.5) ? .private : .shared
        mode = random.pick([.online, .automatic, .automatic, .automatic, .preferStored, .offline])
        eagerRefresh = random.chance(0.2) ? 0.5 : nil
        settings = random.chance(0.5) ? random.settings() : nil
        request = random.request()
        stored = (0..<random.pick([0, 1, 1, 1, 1, 2, 3])).map { _ in random.stored() }
        invalidated = random.chance(0.2) ? Int.random(in: 0...stored.count, using: &random) : 0
        now = Self.start.adding(
            milliseconds: random.pick([0, 1, 999, 1000, 1001, 5000, 59_999, 60_000, 60_001, 61_000, 90_000])
        )
        if random.chance(0.3) { now = now.adding(milliseconds: Int64.random(in: 0...400_000, using: &random)) }
        if random.chance(0.05) { now = Self.start.adding(milliseconds: -5000) }
        // A second generator, so that the earlier cases of a seed stay the same.
        var more = SeededRandom(seed: seed ^ 0xA11CE)
        if more.chance(0.1) { request.preference = .staleWhileRevalidate }
        if more.chance(0.15) { request.reuseWithin = more.pick([.seconds(5), .seconds(60), .seconds(90)]) }
        if more.chance(0.6) { cause = .unsafeMethod }
        if more.chance(0.5) { settings?.overrides.directivesIgnoredWhenStale.insert(.invalidated) }
    }

    var description: String {
        let fields = request.head.headerFields.map { "\($0.name): \($0.value)" }
        let heads = stored.map {
            "\($0.head.status.code) common=\($0.isCommon) \($0.head.fields) by \($0.head.selectingFields)"
        }
        return """
            \(kind) \(mode) eager=\(eagerRefresh ?? 0) \(request.head.method) \(fields) \(request.preference) \(request.storage) \
            within=\(request.reuseWithin.map { "\($0)" } ?? "-") \
            principal=\(request.principal ?? "-") stored=\(heads) invalidated=\(invalidated) by \(cause) +\(now.milliseconds(since: Self.start)) ms settings=\(settings.map { "\($0)" } ?? "-")
            """
    }

    /// An engine whose own store holds this case's responses.
    func engine(on transport: any Transport, mode: OfflineMode) async throws -> (
        CacheEngine, InMemoryResponseStore, ManualClock
    ) {
        var options = EngineOptions()
        options.hardTimeout = nil
        options.eagerRefresh = eagerRefresh
        let (store, clock) = (InMemoryResponseStore(), ManualClock(now))
        let engine = CacheEngine(
            store: store,
            transport: transport,
            policy: CachePolicy(kind: kind),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            mode: mode,
            options: options,
            rules: settings.map { OneRule(rules: RequestRules(settings: $0)) },
            parts: .init(clock: clock, sleeper: ManualDurationClock(), jitter: { 1 }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        var asGet = request
        if asGet.head.method != .head { asGet.head.method = .get }
        asGet.body = nil
        asGet.storage = .byResponse
        // If a rule bypasses the store, its content makes no difference.
        let key = try engine.key(for: asGet) ?? StoreKey(target: TargetURI(Self.url))
        for (index, entry) in stored.enumerated() {
            let draft = ResponseDraft(
                key: entry.isCommon ? key.inPartition(.common) : key,
                head: entry.head,
                freshUntil: .distantFuture,
                isUsableStale: true,
                storedAt: entry.head.responseTime
            )
            let writer = try #require(try await store.beginWrite(draft, fencingNumber: store.invalidationSequence))
            try await writer.append(ByteBuffer(string: entry.body))
            _ = try await writer.finish()
            if index + 1 == invalidated {
                _ = try await store.invalidate(.target(key.components.target), .mark(cause), at: now)
            }
        }
        return (engine, store, clock)
    }
}

/// Rules that are the same for all requests.
struct OneRule: ExchangeRules {
    let rules: RequestRules

    func rules(for request: HTTPRequest) -> RequestRules { rules }

    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
}

extension SeededRandom {
    mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &self)] }

    private mutating func some(_ values: [String], _ share: Double) -> String? {
        let chosen = values.filter { _ in chance(share) }
        return chosen.isEmpty ? nil : chosen.joined(separator: ", ")
    }

    fileprivate mutating func request() -> CacheRequest {
        var fields = HTTPFields()
        if chance(0.4) {
            fields[.cacheControl] = some(
                [
                    "no-cache", "max-age=\(pick([0, 5, 60, 600]))", "min-fresh=\(pick([5, 60]))", "max-stale",
                    "max-stale=\(pick([1, 10]))",
                    "stale-if-error=\(pick([0, 10, 300]))", "only-if-cached", "no-store",
                ],
                0.15
            )
        }
        if chance(0.05), let pragma = HTTPField.Name("Pragma") { fields[pragma] = "no-cache" }
        if chance(0.5) { fields[.acceptLanguage] = pick(["de", "en", "de, en"]) }
        if chance(0.15) { fields[.cookie] = "sid=1" }
        if chance(0.1) { fields[.authorization] = "Bearer secret" }
        if chance(0.1) { fields[.range] = pick(["bytes=0-3", "bytes=2-", "bytes=90-", "bytes=0-1,4-5"]) }
        if chance(0.15) { fields[.ifNoneMatch] = pick(["\"1\"", "\"9\"", "W/\"1\"", "*"]) }
        if chance(0.05) { fields[.ifModifiedSince] = "Thu, 01 Jan 2026 00:00:00 GMT" }
        var request = CacheRequest(
            head: HTTPRequest(
                method: chance(0.85) ? .get : pick([.head, .post, .options]),
                scheme: "https",
                authority: "a.example",
                path: "/feed?page=1",
                headerFields: fields
            ),
            principal: chance(0.2) ? "somebody" : nil
        )
        if chance(0.25) {
            request.preference = pick([.storedFirst, .storedOnly, .networkFirst, .networkOnly])
        }
        if chance(0.1) { request.storage = pick([.never, .expiring(.after(.seconds(60)))]) }
        if request.head.method == .post { request.body = .buffer(ByteBuffer(string: "{}")) }
        return request
    }

    fileprivate mutating func settings() -> ExchangeSettings {
        var settings = ExchangeSettings()
        func some<Value>(_ share: Double, _ values: [Value], _ random: inout SeededRandom) -> Value? {
            random.chance(share) ? random.pick(values) : nil
        }
        settings.isBypassed = chance(0.04)
        settings.methods = some(0.06, [[.get], [.head], [.get, .post]], &self)
        settings.mode = some(0.15, OfflineMode.allCases, &self)
        if chance(0.2) { settings.target.droppedParameters = ["page"] }
        if chance(0.2) { settings.target.ignoredParameters = ["page"] }
        if chance(0.15) { settings.ignoredFields = [pick([.cookie, .acceptLanguage, .authorization])] }
        if chance(0.1) { settings.principal = .cookie("sid") }
        if chance(0.1) { settings.keyedContent = .any }
        if chance(0.1) { settings.requestFields.removed = [.cookie] }
        if chance(0.15) { settings.eagerRefresh = pick([.off, .value(0.3)]) }
        var overrides = PolicyOverrides()
        overrides.lifetime = some(0.2, [0, 20, 200], &self)
        overrides.defaultLifetime = some(0.2, [20, 200], &self)
        overrides.errorLifetime = some(0.1, [5, 90], &self)
        overrides.ignoredDirectives = some(0.25, [.noCache, .mustRevalidate, [.sMaxage, .private]], &self) ?? []
        overrides.directivesIgnoredWhenStale =
            some(0.3, [.mustRevalidate, .noCache, [.proxyRevalidate, .sMaxage]], &self) ?? []
        overrides.staleWhileRevalidate = some(0.15, [0, 40], &self)
        overrides.staleIfError = some(0.2, [0, 40], &self)
        overrides.maximumStalenessUnreachable = some(0.2, [0, 10, 100], &self)
        overrides.maximumStalenessOffline = some(0.2, [0, 10, 100], &self)
        settings.overrides = overrides
        return settings
    }

    fileprivate mutating func stored() -> ExplainedCase.Stored {
        var fields: HTTPFields = [.contentType: "text/plain"]
        if chance(0.85) {
            fields[.cacheControl] = some(
                [
                    "max-age=\(pick([0, 1, 60, 120]))", "s-maxage=\(pick([0, 30, 60]))",
                    "stale-while-revalidate=\(pick([0, 30, 100]))",
                    "stale-if-error=\(pick([0, 30, 100]))", "must-revalidate", "proxy-revalidate", "no-cache", "public",
                    "private",
                    "no-cache=\"set-cookie\"", "immutable",
                ],
                0.2
            ).map { chance(0.5) && !$0.hasPrefix("max-age") ? "max-age=60, " + $0 : $0 }
        }
        if chance(0.05), let targeted = HTTPField.Name("CDN-Cache-Control") {
            fields[targeted] = "max-age=\(pick([10, 90]))"
        }
        if chance(0.2) { fields[.expires] = pick(["Thu, 01 Jan 2026 00:01:00 GMT", "0"]) }
        if chance(0.5) { fields[.date] = pick(["Thu, 01 Jan 2026 00:00:00 GMT", "Wed, 31 Dec 2025 23:59:50 GMT"]) }
        if chance(0.2) { fields[.age] = pick(["0", "7", "61", "x"]) }
        if chance(0.3) { fields[.lastModified] = "Wed, 31 Dec 2025 00:00:00 GMT" }
        if chance(0.6) { fields[.eTag] = pick(["\"1\"", "\"2\"", "W/\"1\""]) }
        var selecting = HTTPFields()
        if chance(0.3) {
            fields[.vary] = pick(["Accept-Language", "Accept-Language", "*", "Cookie, Accept-Language"])
            selecting[.acceptLanguage] = pick(["de", "en"])
        }
        var status = HTTPResponse.Status(code: chance(0.8) ? 200 : pick([203, 301, 404, 405, 500, 503]))
        var body = "0123456789"
        if chance(0.1) {
            (status, body) = (.partialContent, "01234")
            fields[.contentRange] = "bytes 0-4/10"
        }
        let responseTime = ExplainedCase.start.adding(milliseconds: Int64(pick([-3000, 0, 0, 0, 200])))
        return ExplainedCase.Stored(
            head: StoredResponseHead(
                selectingFields: selecting,
                status: status,
                fields: fields,
                requestTime: responseTime.adding(milliseconds: -Int64(pick([0, 100, 2500]))),
                responseTime: responseTime,
                explicitExpiry: chance(0.08)
                    ? ExplainedCase.start.adding(milliseconds: Int64(pick([0, 30_000, 70_000]))) : nil
            ),
            body: body,
            isCommon: chance(0.6)
        )
    }
}
