public import HTTPTypes

extension CacheRequest {
    /// Parts that few requests have.
    struct RareParts: Sendable {
        var context: (any Sendable)?
        var contentCheck: ContentCheck?
        var goodDataGuard: GoodDataGuard?
        var secrets: RequestSecrets?
        var overrides: (any SettingsOverriding)?
        var reuseWithin: Duration?
        var tags: [String]?
        var leavesTarget: Bool?
        var upgrade: UpgradeOffer?
        var isIdempotent: Bool?
        var contentDigest: [UInt8]?
        var digestForm: ContentForm?
        var onRedirect: (@Sendable (inout CacheRequest) -> Void)?
    }

    /// See ``TransportRequest/isIdempotent``; `nil` if the method decides.
    package var isIdempotent: Bool? {
        get { rare?.isIdempotent }
        set { setRare(\.isIdempotent, newValue) }
    }

    /// The SHA-256 of the content, if the content itself is not known: to judge a request, never to
    /// send it.
    var contentDigest: [UInt8]? {
        get { rare?.contentDigest }
        set { setRare(\.contentDigest, newValue) }
    }

    /// The form of a POST's content that ``contentDigest`` is the digest of. If it is `nil`, the
    /// form is unknown, and the rules are assumed to key the same form.
    var digestForm: ContentForm? {
        get { rare?.digestForm }
        set { setRare(\.digestForm, newValue) }
    }

    /// Changes each redirected request before it is sent. Callers that follow redirects call it;
    /// for example, a cookie jar adds the cookies for the new target.
    package var onRedirect: (@Sendable (inout CacheRequest) -> Void)? {
        get { rare?.onRedirect }
        set { setRare(\.onRedirect, newValue) }
    }

    /// An offer to switch to another protocol with the origin, on a separate connection. The
    /// response to such a request is never stored (``CacheRequest/Storage/never``): see
    /// ``UpgradeOffer``.
    package var upgrade: UpgradeOffer? {
        get { rare?.upgrade }
        set { setRare(\.upgrade, newValue) }
    }

    /// A caller-defined value that is passed to the transport (``TransportRequest/context``), for
    /// example a plugin's note for a transport that wraps another.
    ///
    /// The engine never reads it, and it is neither in the key nor in the store. It is passed along
    /// with everything that is sent for this request, including the background validation of a
    /// served response, and probes for its origin's return. If the request joins another caller's
    /// fetch, its own context is not used, because nothing is sent for it.
    public var context: (any Sendable)? {
        get { rare?.context }
        set { setRare(\.context, newValue) }
    }

    /// Checks a successful response's content before it is stored; see ``ContentCheck``.
    public var contentCheck: ContentCheck? {
        get { rare?.contentCheck }
        set { setRare(\.contentCheck, newValue) }
    }

    /// Prevents a response that looks wrong from replacing a good stored response, if neither the
    /// engine's options nor a rule decide that.
    package var goodDataGuard: GoodDataGuard? {
        get { rare?.goodDataGuard }
        set { setRare(\.goodDataGuard, newValue) }
    }

    /// Names of query parameters that are credentials, such as an API key. A trailing `*` matches
    /// any ending.
    ///
    /// The parameters are sent to the origin. Their values appear neither in the store, including
    /// the key's target, nor in messages, logs or spans. A response whose fields repeat a value is
    /// not stored; bodies are not checked. Like `Authorization`, the values identify a principal
    /// through an HMAC, unless ``principal`` is set. To invalidate or watch responses, the
    /// request's target is used without the parameters. Rules also see the target without them.
    public var secretParameters: Set<String> {
        get { secrets?.parameters ?? [] }
        set { setRare(\.secrets, RequestSecrets(parameters: newValue, fields: secretFields)) }
    }

    /// Names of request fields that are credentials, in addition to the well-known ones. They
    /// identify a principal, select variants through an HMAC, and are never shown.
    public var secretFields: Set<HTTPField.Name> {
        get { secrets?.fields ?? [] }
        set { setRare(\.secrets, RequestSecrets(parameters: secretParameters, fields: newValue)) }
    }

    /// See ``secretParameters`` and ``secretFields``.
    var secrets: RequestSecrets? {
        get { rare?.secrets }
        set { setRare(\.secrets, newValue) }
    }

    /// This request's settings, which override those of the engine's rules; see
    /// ``SettingsOverriding``.
    ///
    /// As with a rule, a mode set here can only restrict the engine's mode: `offline` always wins.
    /// All requests that share a fetch have equal overrides.
    public var overrides: (any SettingsOverriding)? {
        get { rare?.overrides }
        set { setRare(\.overrides, newValue) }
    }

    /// The time for which a stored success is served without the network after it was received or
    /// last validated, even if it is not fresh. As a result, the same request is not sent twice
    /// within that time.
    ///
    /// The time counts from when the response was received, not by its `Age`. Everything that
    /// forbids use without validation is honored (`no-cache`, `must-revalidate`, an invalidation,
    /// the request's own `no-cache`, `max-age` and `min-fresh`, an operator's budget). A request
    /// with ``CacheRequest/Preference/networkOnly`` is still sent to the origin.
    public var reuseWithin: Duration? {
        get { rare?.reuseWithin }
        set { setRare(\.reuseWithin, newValue) }
    }

    /// Tags to store this request's response with, in addition to its cache groups and the rules'
    /// tags (``ResponseDraft/tags``), so that it can be invalidated together with others.
    ///
    /// They are stored unchanged, so they must not contain secrets. If a request joins another
    /// caller's fetch, the stored response has the other request's tags. A response that a 304
    /// freshens gets the tags of the request that the 304 answered.
    public var tags: [String] {
        get { rare?.tags ?? [] }
        set { setRare(\.tags, newValue.isEmpty ? nil : newValue) }
    }

    /// Whether a success invalidates the responses stored for the request's own target, if the
    /// method is unsafe and the content is not part of the key. RFC 9111 §4.4
    ///
    /// The default is `true`, because a cache cannot know whether the target changed. Set it to
    /// `false` if the request only reads with POST, or if the API has one URL for everything. The
    /// targets and groups that the response itself names (`Location`, `Content-Location`, cache
    /// groups) are always invalidated.
    public var invalidatesTarget: Bool {
        get { rare?.leavesTarget != true }
        set { setRare(\.leavesTarget, newValue ? nil : true) }
    }

    /// Sets a part. Clearing a part of a request without rare parts allocates no memory.
    private mutating func setRare<Value>(_ path: WritableKeyPath<RareParts, Value?>, _ value: Value?) {
        guard value != nil || rare != nil else { return }
        var parts = rare ?? RareParts()
        parts[keyPath: path] = value
        rare = parts
    }
}
