package import HTTPCacheSemantics
package import HTTPTypes

/// A request after the rules have been applied: the key to look up, the request to send, and the
/// changes made. ``CacheEngine/prepare(_:)`` creates it once for each exchange.
///
/// A class, because it is large and passes through many functions.
package final class PreparedRequest: Sendable {
    /// The request as received, if the rules changed it.
    private let original: CacheRequest?
    /// The request for looking up and sending. It lacks the fields that rules set in requests to
    /// the origin: ``PreparedRequest/sending(_:)`` adds them.
    package let request: CacheRequest
    /// The request's method, kept here because the head computes it on each access.
    package let method: HTTPRequest.Method
    /// The rules that apply; `nil` if there are none.
    package let rules: RequestRules?
    /// The target as received.
    package let presentedTarget: TargetURI
    /// The targets for sending and for the key, if rules may have changed them.
    private let rewritten: (sent: TargetURI, keyed: TargetURI)?
    /// The key of the stored responses; `nil` if the request bypasses the store.
    package let key: StoreKey?
    /// Whether responses are looked up and stored only under ``key``, which belongs to the
    /// principal.
    package let isPerPrincipal: Bool
    /// The credentials that requests must have in common to share a fetch; `nil` if the same key is
    /// enough.
    ///
    /// A POST or an event stream may be billed per call. So a request gets no response that another
    /// credential paid for, not even if a rule ignores credentials or takes the principal from
    /// elsewhere.
    let sharedCredentials: StoreKey.Partition?
    /// The number of the request in the engine's job; 0 without a job.
    let ordinal: UInt64
    /// Whether the request has an identity of its own in the engine's job; `nil` without a job.
    let hasIdentityInJob: Bool?
    /// The request's identity in the engine's job; `nil` without a job, and if the request bypasses
    /// the store.
    let identityInJob: JobIdentities.Identity?
    /// The reason that the request is not part of the engine's job, and therefore has no key.
    let exclusion: JobRun.Exclusion?
    /// Whether the engine has a job, which must learn of every exchange.
    var isSeenByJob: Bool { hasIdentityInJob != nil }
    /// Whether the request is part of the engine's job, so that the response belongs to the job.
    var isInJob: Bool { isSeenByJob && key != nil }
    /// Whether a response to another request that is arriving serves this request, whatever the
    /// directives of both.
    ///
    /// A recording keeps one response for each request, so another fetch at the same moment would
    /// only replace the response, and may be billed.
    var sharesArrivingResponses: Bool { isInJob }
    /// Whether the request has fields that identify its sender, regardless of the rules for these
    /// fields.
    let hasCredentialFields: Bool
    /// The cookies that a rule divided into kept and others; `nil` if it divided none.
    let cookies: RuledCookies?
    /// The value of the `Cookie` field to send, if it is not the one in ``request``.
    private let sentCookies: String?
    /// Whether cookies are sent that are not in the key. The response may depend on them, so it is
    /// for this request only.
    let sendsUnkeyedCookies: Bool
    /// Whether the request bypasses the store because it has credentials:
    /// ``ExchangeSettings/admitsCredentials``.
    let isRefusedForCredentials: Bool
    /// The engine's policy, with the rules' overrides for response fields.
    package let policy: CachePolicy
    /// The head that selects variants, if it differs from the request's.
    private let selectingHead: HTTPRequest?
    /// How much of the network may be used.
    package let mode: OfflineMode
    /// Whether this node may serve fresh responses without validation.
    let contact: FleetContact
    /// ``CacheEngine/settingsVersion`` before these decisions were made.
    package let settingsVersion: UInt64

    /// The head that selects variants, in which credentials are replaced by their HMACs.
    package var selecting: HTTPRequest { selectingHead ?? request.head }

    /// The target to send.
    package var target: TargetURI { rewritten?.sent ?? presentedTarget }

    /// The target for the key, without ignored parameters.
    package var keyedTarget: TargetURI { rewritten?.keyed ?? presentedTarget }

    /// The target as received, without its secrets, for people and for records.
    package var shownTarget: TargetURI { presented.secrets?.withheld(from: presentedTarget).target ?? presentedTarget }

    /// The target to send, without its secrets.
    package var shownSentTarget: TargetURI { request.secrets?.withheld(from: target).target ?? target }

    /// The request as received.
    package var presented: CacheRequest { original ?? request }

    /// The settings that apply before the response is known.
    package var settings: ExchangeSettings? { rules?.settings }

    /// Returns the settings that apply to a response with these fields.
    package func settings(for fields: HTTPFields) -> ExchangeSettings? {
        rules?.settings(for: fields)
    }

    /// The keys under which stored responses are looked up, starting with the principal's key.
    package var lookupKeys: [StoreKey] {
        guard let key else { return [] }
        return commonLookupKey.map { [key, $0] } ?? [key]
    }

    /// The second lookup key; `nil` if ``key`` is the only lookup key.
    var commonLookupKey: StoreKey? {
        guard let key, !isPerPrincipal, !key.isCommon, !keepsRemovedFields else { return nil }
        return key.inPartition(.common)
    }

    /// The identity of the rules. Two requests with the same key may share a fetch only if their
    /// rules have the same identity.
    var rulesIdentity: ObjectIdentifier? { rules.map { ObjectIdentifier($0) } }

    /// Returns the time limit for the head of an origin's response; `nil` leaves the limit to the
    /// transport.
    func hardTimeout(_ options: EngineOptions) -> Duration? {
        settings.map { $0.hardTimeout.resolved(options.hardTimeout) } ?? options.hardTimeout
    }

    /// Returns the time that a caller waits for the origin when a stored response could be served;
    /// `nil` sets no limit.
    func softTimeout(_ options: EngineOptions) -> Duration? {
        settings.map { $0.softTimeout.resolved(options.softTimeout) } ?? options.softTimeout
    }

    /// Returns the fraction of its lifetime after which a stored response is renewed.
    ///
    /// - Parameter inherited: the engine's value.
    package func eagerRefresh(of stored: StoredResponseHead, _ inherited: Double?) -> Double? {
        // A job is complete or not; it needs no renewal in the background.
        if isSeenByJob { return nil }
        return rules.map { $0.settings(for: stored.fields).eagerRefresh.resolved(inherited) } ?? inherited
    }

    /// Returns the guard for a stored response. The stored response's type selects the rule,
    /// because a response that looks wrong may have any type.
    func goodDataGuard(for stored: StoredResponse, _ options: EngineOptions) -> GoodDataGuard? {
        let guarding = options.goodDataGuard ?? request.goodDataGuard
        guard let rules else { return guarding }
        return rules.settings(for: stored.head.fields).goodDataGuard.resolved(guarding)
    }

    /// Whether the origin's circuit breaker applies.
    package var usesBreaker: Bool { settings?.usesBreaker ?? true }

    /// Returns the request to the origin, with its own head or another (for example, with the
    /// cache's validators).
    ///
    /// A `Range` that exceeds the limit is omitted, in which case the origin sends the complete
    /// response.
    func sending(_ head: HTTPRequest? = nil) -> TransportRequest {
        var head = head ?? request.head
        if !CachePolicy.forwardsRange(of: head.headerFields) {
            for name in [HTTPField.Name.range, .ifRange] { head.headerFields[fields: name] = [] }
        }
        if let id = request.requestID { head.headerFields[.xRequestID] = id }
        // The response to such a request returns all fields to the client, so the request carries
        // no secrets: neither fields set by rules nor credentials. RFC 9110 §9.3.8
        let returnsRequest = method.returnsRequest
        if returnsRequest {
            let secrets = request.secrets?.fields ?? []
            head.headerFields.removeAll { CredentialPartition.isCredential($0) || secrets.contains($0.name) }
        }
        if let sentCookies, !returnsRequest { head.headerFields.setCookie(sentCookies) }
        let edits = returnsRequest ? nil : settings?.requestFields
        if let edits, !edits.isEmpty { edits.apply(to: &head.headerFields) }
        var sending = request.sending(head)
        if let edits, !edits.isEmpty, let body = sending.body { sending.body = edits.apply(toTrailersOf: body) }
        sending.target = target
        sending.hasCredentials = hasCredentials || sentCookies != nil
        if let edits { sending.ruleFields = edits.set }
        return sending
    }

    /// Whether the request has credentials or a principal that its rules do not ignore.
    var hasCredentials: Bool {
        if let hasIdentityInJob { return hasIdentityInJob }
        // Rules change no principal, and 'presented' would copy the request.
        if isPerPrincipal || request.principal != nil || request.secrets != nil { return true }
        guard hasCredentialFields, let ignored = settings?.ignoredFields, !ignored.isEmpty else {
            return hasCredentialFields
        }
        return CredentialPartition.hasCredentials(request.head.headerFields, ignoring: ignored)
    }

    /// Returns a copy with another head that renews a stored response and does not belong to a
    /// particular client.
    func renewing(_ head: HTTPRequest) -> PreparedRequest {
        var request = request
        request.head = head
        request.onInformational = nil
        request.originReport = nil
        request.executionContext = .system
        var original = original
        original?.head.headerFields.removeAll { $0.name.asksForPartOrNothing }
        original?.onInformational = nil
        original?.originReport = nil
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
        ordinal = other.ordinal
        hasIdentityInJob = other.hasIdentityInJob
        identityInJob = other.identityInJob
        exclusion = other.exclusion
        hasCredentialFields = CredentialPartition.hasCredentials(request.head.headerFields)
        sharedCredentials = other.sharedCredentials
        cookies = other.cookies
        // The renewed response is for every client with the same kept cookies and listed values.
        sentCookies = other.cookies?.sent(isForOne: false)
        sendsUnkeyedCookies = false
        isRefusedForCredentials = other.isRefusedForCredentials
        policy = other.policy
        selectingHead = other.selectingHead
        mode = other.mode
        contact = other.contact
        settingsVersion = other.settingsVersion
    }

    /// The state of an engine that is used to prepare requests.
    struct Snapshot {
        let policy: CachePolicy
        let partitions: CredentialPartition
        let modes: EngineModes
        let staleness: StalenessExtension
        var selectsByScheme = false
        var contact = FleetContact.lasting
        var job: JobRun?
        /// See ``CacheEngine/settingsVersion``.
        let settingsVersion: UInt64
    }

    /// - Parameters:
    ///   - rules: the rules for the request; `nil` if there are none.
    ///   - snapshot: the engine's state. Its version is read before everything else.
    init?(_ presented: CacheRequest, rules: RequestRules?, _ snapshot: Snapshot) {
        guard let presentedTarget = presented.target ?? TargetURI(request: presented.head) else { return nil }
        settingsVersion = snapshot.settingsVersion
        self.presentedTarget = presentedTarget
        self.rules = rules
        method = presented.head.method
        let (settings, secrets) = (rules?.settings, presented.secrets)
        let principal = settings?.principal.flatMap { snapshot.partitions.partition(of: presented, by: $0) }
        isPerPrincipal = principal != nil || snapshot.job != nil
        ordinal = snapshot.job?.nextOrdinal() ?? 0
        if let rules, let settings {
            let target = presentedTarget.rewritten(dropping: rules.dropped, sorting: settings.target.sortsParameters)
            rewritten = (target, (secrets?.withheld(from: target).target ?? target).ignoring(rules.ignored))
            original = presented
            var request = Self.request(presented, settings, target: target == presentedTarget ? nil : target)
            cookies = Self.removeUnlisted(from: &request, settings)
            self.request = request
        } else {
            rewritten = secrets.map { (presentedTarget, $0.withheld(from: presentedTarget).target) }
            original = nil
            request = presented
            cookies = nil
        }
        sentCookies = cookies?.sent(isForOne: true)
        sendsUnkeyedCookies = cookies?.sendsOthers == true
        mode = OfflineMode.leastNetwork(snapshot.modes.mode(for: presentedTarget), settings?.mode)
        contact = snapshot.contact
        hasCredentialFields = CredentialPartition.hasCredentials(request.head.headerFields)
        let credentials =
            hasCredentialFields || secrets != nil ? snapshot.partitions.shared(by: request, settings) : nil
        var policy = snapshot.policy
        if let rules, rules.hasOverrides { policy.overriding = rules }
        if isPerPrincipal { policy.kind = .private }
        policy.leavesOutCredentials = snapshot.job != nil
        policy.extendedStaleness = snapshot.staleness.seconds
        let scheme = snapshot.selectsByScheme ? ClientScheme(presented, sentAs: request, settings) : .irrelevant
        if case .irrelevant = scheme {} else { policy.selectsByScheme = true }
        let listed = settings.flatMap { $0.listed.isEmpty ? nil : $0.listed }
        policy.selectsByListedValues = listed != nil
        self.policy = policy
        // Most requests do not identify their sender. Credentials that a rule ignores count too,
        // because the origin gets them.
        let isAnonymous = principal == nil && !hasCredentialFields && secrets == nil && request.principal == nil
        isRefusedForCredentials = settings?.admitsCredentials == false && (!isAnonymous || sendsUnkeyedCookies)
        let isKeyed =
            request.storage != .never && request.isKeyed && settings?.isBypassed != true
            && settings?.admits(method) != false && !isRefusedForCredentials
        let choice =
            isKeyed
            ? KeyChoice(
                request,
                target: rewritten?.keyed ?? presentedTarget,
                principal: principal,
                isAnonymous: isAnonymous,
                settings,
                snapshot
            ) : KeyChoice(hasIdentityInJob: snapshot.job == nil ? nil : hasCredentialFields)
        key = choice.key
        hasIdentityInJob = choice.hasIdentityInJob
        identityInJob = choice.identityInJob
        exclusion = choice.exclusion
        if credentials != nil, let identity = choice.identityInJob?.partition {
            sharedCredentials = identity == .common ? nil : identity
        } else {
            sharedCredentials = credentials
        }
        selectingHead =
            isKeyed ? Self.selecting(choice.selecting, request.head, by: scheme, listed, cookies) : nil
    }

    /// The request's head without credentials, for a job.
    var withoutCredentials: HTTPRequest {
        CredentialPartition.withoutCredentials(
            request.head,
            principal: settings?.principal?.field,
            secrets: request.secrets
        )
    }

    /// Removes the cookies and fields that the rules do not list.
    ///
    /// - Returns: the cookies, divided by the rules.
    private static func removeUnlisted(from request: inout CacheRequest, _ settings: ExchangeSettings) -> RuledCookies?
    {
        let cookies = RuledCookies(request.head.headerFields, settings)
        cookies?.keep(in: &request.head.headerFields)
        if !settings.listed.fields.isEmpty { settings.listed.removeUnlisted(from: &request.head.headerFields) }
        return cookies
    }

    /// Returns the head that selects variants, if it differs from the request's own head. It
    /// includes the client's scheme where that differs, and the values that a rule lists.
    private static func selecting(
        _ selecting: HTTPRequest?,
        _ own: HTTPRequest,
        by scheme: ClientScheme,
        _ listed: ListedValues?,
        _ cookies: RuledCookies?
    ) -> HTTPRequest? {
        var head = selecting
        if case .selecting(let field) = scheme {
            var changed = head ?? own
            changed.headerFields[fields: .clientScheme] = field.map { [$0] } ?? []
            head = changed
        }
        if let listed {
            var changed = head ?? own
            listed.select(in: &changed.headerFields, by: cookies, own.headerFields)
            head = changed
        }
        return head
    }

    /// Returns the request for looking up and sending.
    private static func request(
        _ presented: CacheRequest,
        _ settings: ExchangeSettings,
        target: TargetURI?
    ) -> CacheRequest {
        var request = presented
        if let target { request.head.path = target.requestTarget }
        if !settings.requestFields.isEmpty { settings.requestFields.withhold(from: &request.head.headerFields) }
        if settings.normalizesAcceptEncoding, let value = AcceptEncoding.normalized(request.head.headerFields) {
            request.head.headerFields[.acceptEncoding] = value
        }
        if !request.keysContent { request.keysContent = keysContent(of: presented, settings) }
        let (withheld, tagFields) = (settings.responseFields, settings.tagFields)
        if let inform = presented.onInformational, !withheld.isEmpty || !tagFields.isEmpty {
            request.onInformational = { interim in
                var interim = interim
                withheld.withhold(from: &interim.headerFields)
                tagFields.withhold(from: &interim.headerFields)
                inform(interim)
            }
        }
        return request
    }

    /// Returns whether rules add a POST's content to its key. A POST that still bypasses the store
    /// is an ordinary POST, which invalidates. RFC 9111 §4.4
    private static func keysContent(of presented: CacheRequest, _ settings: ExchangeSettings) -> Bool {
        guard settings.mayKeyContent, presented.head.method == .post, presented.storage != .never else { return false }
        if case .stream = presented.body { return false }
        return settings.keyedContent != .graphQL || presented.isGraphQLQuery
    }
}

extension CacheRequest {
    /// The head that rules see, without secret parameters.
    package var ruledHead: HTTPRequest {
        guard let secrets, let target = TargetURI(request: head) else { return head }
        var head = head
        head.path = secrets.withheld(from: target).target.requestTarget
        return head
    }
}

extension HTTPField.Name {
    fileprivate static let xRequestID = literal("X-Request-Id")
}
