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
    }

    /// The wish to speak another protocol with the origin, on a connection of its own. Such a
    /// request is never stored (``CacheRequest/Storage/never``): see ``UpgradeOffer``.
    package var upgrade: UpgradeOffer? {
        get { rare?.upgrade }
        set { setRare(\.upgrade, newValue) }
    }

    /// A value of the caller's own that is passed to the transport (``TransportRequest/context``),
    /// for a wrapper around it: a plugin's note, for example.
    ///
    /// The engine never reads it, and it is neither in the key nor in the store. It is passed along
    /// with everything that is sent for this request: the validation in the background of the
    /// response that was served, and the probe for its origin's return. A caller whose request
    /// joined another's fetch sent nothing, so its context goes nowhere.
    public var context: (any Sendable)? {
        get { rare?.context }
        set { setRare(\.context, newValue) }
    }

    /// Checks the content of a success before it is stored; see ``ContentCheck``.
    public var contentCheck: ContentCheck? {
        get { rare?.contentCheck }
        set { setRare(\.contentCheck, newValue) }
    }

    /// Keeps a good stored response from being replaced by one that looks wrong, if neither the
    /// engine's options nor a rule say how.
    package var goodDataGuard: GoodDataGuard? {
        get { rare?.goodDataGuard }
        set { setRare(\.goodDataGuard, newValue) }
    }

    /// Names of parameters in the query that are credentials: an API key, for example. A trailing
    /// `*` stands for any ending.
    ///
    /// They are sent. Their values are neither in the key's target nor anywhere else in the store,
    /// nor in a message, a log or a span. A response whose fields repeat one is not stored; a body
    /// is the origin's own business. Like `Authorization`, they make a principal by an HMAC, unless
    /// ``principal`` names one. A request that names them invalidates or watches the responses that
    /// are keyed without them. Rules see the target without them, too.
    public var secretParameters: Set<String> {
        get { secrets?.parameters ?? [] }
        set { setRare(\.secrets, RequestSecrets(parameters: newValue, fields: secretFields)) }
    }

    /// Names of request fields that are credentials, beside the well-known ones: they make a
    /// principal, select variants by an HMAC, and are shown nowhere.
    public var secretFields: Set<HTTPField.Name> {
        get { secrets?.fields ?? [] }
        set { setRare(\.secrets, RequestSecrets(parameters: secretParameters, fields: newValue)) }
    }

    /// See ``secretParameters`` and ``secretFields``.
    var secrets: RequestSecrets? { rare?.secrets }

    /// The settings of this request, which replace those of the engine's rules; see
    /// ``SettingsOverriding``.
    ///
    /// Its mode bounds the engine's, as a rule's does: `offline` beats everything. All requests of
    /// one fetch have equal overrides.
    public var overrides: (any SettingsOverriding)? {
        get { rare?.overrides }
        set { setRare(\.overrides, newValue) }
    }

    /// A stored success that came, or was last validated, no longer ago than this is served without
    /// the network, even if it is not fresh. So the same request is not sent twice within a chosen
    /// time.
    ///
    /// The time counts from when the response came, not by its `Age`. Everything that forbids the
    /// use without validation is honoured (`no-cache`, `must-revalidate`, an invalidation, the
    /// request's own `no-cache`, `max-age` and `min-fresh`, an operator's budget). A request for
    /// the network alone (``CacheRequest/Preference/networkOnly``) goes to the network.
    public var reuseWithin: Duration? {
        get { rare?.reuseWithin }
        set { setRare(\.reuseWithin, newValue) }
    }

    /// Tags that this request's response is stored with, beside its cache groups and the rules'
    /// tags (``ResponseDraft/tags``), so that it can be invalidated together with others.
    ///
    /// They are stored as they are, so no secret belongs in them. If a caller's request joined
    /// another's fetch, the stored response has the tags of the other request. A response that a
    /// 304 renews has the tags of the request that the 304 answered.
    public var tags: [String] {
        get { rare?.tags ?? [] }
        set { setRare(\.tags, newValue.isEmpty ? nil : newValue) }
    }

    /// Whether a success invalidates the responses stored for this very target, if the method is
    /// unsafe and the content is not part of the key. RFC 9111 §4.4
    ///
    /// `true`: a cache cannot know better. A caller can know better if it reads by POST, or if its
    /// API has one URL for everything. The targets and groups that the response itself names
    /// (`Location`, `Content-Location`, cache groups) are invalidated in any case.
    public var invalidatesTarget: Bool {
        get { rare?.leavesTarget != true }
        set { setRare(\.leavesTarget, newValue ? nil : true) }
    }

    /// Sets a part. Clearing a part of a request without rare parts allocates nothing.
    private mutating func setRare<Value>(_ path: WritableKeyPath<RareParts, Value?>, _ value: Value?) {
        guard value != nil || rare != nil else { return }
        var parts = rare ?? RareParts()
        parts[keyPath: path] = value
        rare = parts
    }
}
