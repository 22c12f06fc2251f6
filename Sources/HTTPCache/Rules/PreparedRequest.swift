package import HTTPCacheSemantics
package import HTTPTypes

/// A request after its rules: what is looked up, what is sent, and what was changed for that. Made
/// once for each exchange, by ``CacheEngine/prepare(_:)``.
///
/// A class, because it is handed on many times and holds much.
package final class PreparedRequest: Sendable {
    /// As it came, where it is not as it is looked up.
    private let original: CacheRequest?
    /// As it is looked up and sent. The fields that rules set towards the origin are not in it:
    /// they are added when it is sent (``PreparedRequest/sending(_:)``).
    package let request: CacheRequest
    /// Its method, which the head says anew each time it is asked.
    package let method: HTTPRequest.Method
    /// What holds for it; `nil` without rules.
    package let rules: RequestRules?
    /// The target as it came.
    package let presentedTarget: TargetURI
    /// The targets that are sent and keyed, where rules may have changed them.
    private let rewritten: (sent: TargetURI, keyed: TargetURI)?
    /// The key of its stored responses; `nil` where it goes past the store.
    package let key: CacheKey?
    /// Its principal's stored responses are looked up and stored under ``key`` and nowhere else.
    package let isPerPrincipal: Bool
    /// It has fields that say on whose behalf it is made, whatever rules say of them.
    let hasCredentialFields: Bool
    /// The engine's policy with what the rules say in place of responses' fields.
    package let policy: CachePolicy
    /// The head as variants are selected by it, where that is another than the request's.
    private let selectingHead: HTTPRequest?
    /// How much of the network may be used.
    package let mode: OfflineMode
    /// ``CacheEngine/settingsVersion`` before all this was decided.
    package let settingsVersion: UInt64

    /// The head as variants are selected by it: credentials replaced by their HMACs.
    package var selecting: HTTPRequest { selectingHead ?? request.head }

    /// The target that is sent.
    package var target: TargetURI { rewritten?.sent ?? presentedTarget }

    /// The target that is keyed: without parameters that make no difference.
    package var keyedTarget: TargetURI { rewritten?.keyed ?? presentedTarget }

    /// The target as it came, without its secrets: for people, and for what is remembered.
    package var shownTarget: TargetURI { presented.secrets?.withheld(from: presentedTarget).target ?? presentedTarget }

    /// The target that is sent, likewise.
    package var shownSentTarget: TargetURI { request.secrets?.withheld(from: target).target ?? target }

    /// As it came.
    package var presented: CacheRequest { original ?? request }

    /// What holds before a response is known.
    package var settings: ExchangeSettings? { rules?.settings }

    /// What holds once a response with these fields is known.
    package func settings(for fields: HTTPFields) -> ExchangeSettings? {
        rules?.settings(for: fields)
    }

    /// The keys under which stored responses are looked up: the principal's own first.
    package var lookupKeys: [CacheKey] {
        guard let key else { return [] }
        return sharedLookupKey.map { [key, $0] } ?? [key]
    }

    /// The second of them; `nil` where ``key`` is the only one.
    var sharedLookupKey: CacheKey? {
        guard let key, !isPerPrincipal, !key.isShared else { return nil }
        return key.inPartition(.shared)
    }

    /// The key for a response that everybody of its cache may have.
    func sharedKey(_ key: CacheKey) -> CacheKey { isPerPrincipal ? key : key.inPartition(.shared) }

    /// What says whether two requests with one key may have one fetch: the same rules hold for
    /// both.
    var rulesIdentity: ObjectIdentifier? { rules.map { ObjectIdentifier($0) } }

    /// How long an origin may take to send a response's head; `nil` leaves it to the transport.
    func hardTimeout(_ options: EngineOptions) -> Duration? {
        guard let settings else { return options.hardTimeout }
        return settings.hardTimeout.resolved(options.hardTimeout)
    }

    /// How long a caller waits while a stored response could answer; `nil`: to the end.
    func softTimeout(_ options: EngineOptions) -> Duration? {
        guard let settings else { return options.softTimeout }
        return settings.softTimeout.resolved(options.softTimeout)
    }

    /// Whether the origin's breaker counts.
    var usesBreaker: Bool { settings?.usesBreaker ?? true }

    /// What is sent for this request, under its head or another (with the cache's validators, say).
    ///
    /// A `Range` beyond the cap stays here; what the origin then sends is the whole.
    func sending(_ head: HTTPRequest? = nil) -> TransportRequest {
        var head = head ?? request.head
        if !CachePolicy.forwardsRange(of: head.headerFields) {
            for name in [HTTPField.Name.range, .ifRange] { head.headerFields[fields: name] = [] }
        }
        if let edits = settings?.requestFields, !edits.isEmpty { edits.apply(to: &head.headerFields) }
        var sending = request.sending(head)
        sending.target = target
        return sending
    }

    /// The same with another head: a request of nobody in particular that renews what is stored.
    func renewing(_ head: HTTPRequest) -> PreparedRequest {
        var request = request
        request.head = head
        request.onInformational = nil
        request.place = .system
        var original = original
        original?.head.headerFields.removeConditionsAndRanges()
        original?.onInformational = nil
        return PreparedRequest(self, request: request, original: original)
    }

    private init(_ other: PreparedRequest, request: CacheRequest, original: CacheRequest?) {
        self.original = original
        self.request = request
        method = other.method
        rules = other.rules
        presentedTarget = other.presentedTarget
        rewritten = other.rewritten
        key = other.key
        isPerPrincipal = other.isPerPrincipal
        hasCredentialFields = CredentialPartition.hasCredentials(request.head.headerFields)
        policy = other.policy
        selectingHead = other.selectingHead
        mode = other.mode
        settingsVersion = other.settingsVersion
    }

    /// - Parameter engine: whose rules, partitions, policy and mode count.
    fileprivate static func of(_ presented: consuming CacheRequest, _ engine: CacheEngine) -> PreparedRequest? {
        // Before all that is decided.
        let version = engine.settingsVersion
        guard let target = presented.target ?? TargetURI(request: presented.head) else { return nil }
        if let rules = engine.rules(for: presented) {
            return PreparedRequest(presented, target, under: rules, engine, version)
        }
        return PreparedRequest(presented, target, engine, version)
    }

    /// Without rules.
    private init(_ request: CacheRequest, _ target: TargetURI, _ engine: CacheEngine, _ version: UInt64) {
        settingsVersion = version
        presentedTarget = target
        self.request = request
        method = self.request.head.method
        original = nil
        rules = nil
        let secrets = self.request.secrets
        let withheld = secrets?.withheld(from: target).target
        rewritten = withheld.map { (target, $0) }
        isPerPrincipal = false
        hasCredentialFields = CredentialPartition.hasCredentials(self.request.head.headerFields)
        policy = engine.policy
        mode = engine.mode
        if self.request.storage == .never || !self.request.isKeyed {
            key = nil
            selectingHead = nil
        } else if !hasCredentialFields, secrets == nil, self.request.principal == nil {
            key = CacheKey(method: method, target: target, content: self.request.keyContent)
            selectingHead = nil
        } else {
            key = engine.partitions.key(for: self.request, target: withheld ?? target)
            selectingHead = engine.partitions.selecting(self.request.head, secrets: secrets)
        }
    }

    private init(
        _ presented: CacheRequest,
        _ presentedTarget: TargetURI,
        under rules: RequestRules,
        _ engine: CacheEngine,
        _ version: UInt64
    ) {
        settingsVersion = version
        self.presentedTarget = presentedTarget
        method = presented.head.method
        let secrets = presented.secrets
        let settings = rules.settings
        let target = presentedTarget.rewritten(dropping: rules.dropped, sorting: settings.target.sortsParameters)
        let keyedTarget = (secrets?.withheld(from: target).target ?? target).ignoring(rules.ignored)
        rewritten = (target, keyedTarget)
        let request = Self.request(presented, settings, target: target == presentedTarget ? nil : target)
        self.request = request
        original = presented
        self.rules = rules
        mode = OfflineMode.leastNetwork(engine.mode, settings.mode)
        let principal = settings.principal.flatMap {
            engine.partitions.partition(of: presented, by: $0)
        }
        isPerPrincipal = principal != nil
        hasCredentialFields = CredentialPartition.hasCredentials(request.head.headerFields)
        var policy = engine.policy
        if rules.hasOverrides { policy.overriding = rules }
        if principal != nil { policy.kind = .private }
        self.policy = policy
        guard request.storage != .never, request.isKeyed, !settings.isBypassed,
            settings.admits(method)
        else {
            key = nil
            selectingHead = nil
            return
        }
        key = CacheKey(
            partition: principal ?? engine.partitions.partition(of: request, ignoring: settings.ignoredFields),
            method: method,
            target: keyedTarget,
            content: request.keyContent
        )
        selectingHead = engine.partitions.selecting(
            request.head,
            principal: isPerPrincipal ? settings.principal?.field : nil,
            secrets: secrets
        )
    }

    /// The request as it is looked up and sent.
    private static func request(
        _ presented: CacheRequest,
        _ settings: ExchangeSettings,
        target: TargetURI?
    ) -> CacheRequest {
        var request = presented
        if let target { request.head.path = target.requestTarget }
        let edits = settings.requestFields
        if !edits.isEmpty {
            request.head.headerFields.removeAll { edits.removed.contains($0.name) || edits.set.contains($0.name) }
        }
        if settings.normalizesAcceptEncoding, let value = AcceptEncoding.normalized(request.head.headerFields) {
            request.head.headerFields[.acceptEncoding] = value
        }
        if !request.keysContent { request.keysContent = keysContent(of: presented, settings) }
        let withheld = settings.responseFields
        if let inform = presented.onInformational, !withheld.isEmpty {
            request.onInformational = { interim in
                var interim = interim
                withheld.withhold(from: &interim.headerFields)
                inform(interim)
            }
        }
        return request
    }

    /// Whether rules put a POST's content into its key. One that goes past the store all the same
    /// is a POST like any other, and invalidates. RFC 9111 §4.4
    private static func keysContent(of presented: CacheRequest, _ settings: ExchangeSettings) -> Bool {
        guard settings.keyedContent != .asRequested, presented.head.method == .post, presented.storage != .never,
            !settings.isBypassed, settings.admits(.post)
        else { return false }
        if case .stream = presented.body { return false }
        return settings.keyedContent == .any || presented.isGraphQLQuery
    }
}

extension CacheRequest {
    /// The head as rules see it: without secret parameters.
    var ruledHead: HTTPRequest {
        guard let secrets, let target = TargetURI(request: head) else { return head }
        var head = head
        head.path = secrets.withheld(from: target).target.requestTarget
        return head
    }
}

extension CacheEngine {
    /// What a request is after its rules; `nil` where it names no `http` or `https` target.
    ///
    /// The one place where rules change a request: exchanges, keys, invalidation and those that
    /// explain them go through it.
    package func prepare(_ request: consuming CacheRequest) -> PreparedRequest? { PreparedRequest.of(request, self) }

    /// What holds for a request: what the rules say, with its own settings over it; `nil` without
    /// either.
    func rules(for request: CacheRequest) -> RequestRules? {
        guard request.hasRareParts else { return rules?.rules(for: request.head) }
        let found = rules?.rules(for: request.ruledHead)
        guard let override = request.overrides else { return found }
        return overrides.rules(found ?? .none, override)
    }

    /// The targets under which responses to requests for this target are stored: as it stands, and
    /// as the rules for each method that has stored responses change it.
    ///
    /// What is invalidated, or purged, is all of them. Without rules that is the target itself.
    ///
    /// - Parameters:
    ///   - request: one whose method counts too, whatever it is.
    ///   - override: settings of a request's own that count beside the rules.
    package func keyedTargets(
        of target: TargetURI,
        like request: HTTPRequest? = nil,
        overriding override: (any SettingsOverriding)? = nil
    ) -> [TargetURI] {
        var result = [target]
        guard rules != nil || override != nil else { return result }
        var methods: [HTTPRequest.Method] = [.get, .head, .post]
        if let query = HTTPRequest.Method(rawValue: "QUERY") { methods.append(query) }
        if let request, !methods.contains(request.method) { methods.append(request.method) }
        for method in methods {
            let head = HTTPRequest(
                method: method,
                scheme: target.scheme,
                authority: target.authority,
                path: target.requestTarget
            )
            let base = rules?.rules(for: head) ?? .none
            var all = [base]
            if let override { all.append(overrides.rules(base, override)) }
            for found in all {
                let keyed = target.rewritten(dropping: found.dropped, sorting: found.settings.target.sortsParameters)
                    .ignoring(found.ignored)
                if !result.contains(keyed) { result.append(keyed) }
            }
        }
        return result
    }
}

extension OfflineMode {
    /// Of two modes the one that uses less of the network: a rule bounds the engine's mode and
    /// never widens it.
    static func leastNetwork(_ mode: OfflineMode, _ other: OfflineMode?) -> OfflineMode {
        guard let other else { return mode }
        return mode.rank >= other.rank ? mode : other
    }

    private var rank: Int {
        switch self {
        case .online: 0
        case .automatic: 1
        case .preferStored: 2
        case .offline: 3
        }
    }
}

extension ExchangeSettings.Override {
    /// The engine's own setting, or what takes its place.
    func resolved(_ inherited: Value?) -> Value? {
        switch self {
        case .inherited: inherited
        case .off: nil
        case .value(let value): value
        }
    }
}

extension FieldEdits {
    /// Removes all that is named, and sets nothing: of an interim response, which has no content
    /// that the fields could be about. RFC 9110 §15.2
    func withhold(from fields: inout HTTPFields) {
        fields.removeAll { removed.contains($0.name) || set.contains($0.name) }
    }

    /// Removes, then sets.
    ///
    /// - Parameter kept: names of fields that are left as they are.
    func apply(to fields: inout HTTPFields, keeping kept: Set<HTTPField.Name> = []) {
        fields.removeAll { !kept.contains($0.name) && (removed.contains($0.name) || set.contains($0.name)) }
        // `HTTPFields` traps at 65,535 fields; no message that has as many is worth more.
        for field in set where !kept.contains(field.name) && fields.count < 65_000 { fields.append(field) }
    }
}

extension HTTPFields {
    /// What makes a request one for a part or for a 304.
    mutating func removeConditionsAndRanges() {
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .ifRange, .range] {
            self[fields: name] = []
        }
    }
}
