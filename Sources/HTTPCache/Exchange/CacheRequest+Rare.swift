public import HTTPTypes

extension CacheRequest {
    /// What few requests have.
    struct RareParts: Sendable {
        var context: (any Sendable)?
        var contentCheck: ContentCheck?
        var goodDataGuard: GoodDataGuard?
        var secrets: RequestSecrets?
        var overrides: (any SettingsOverriding)?
        var reuseWithin: Duration?
        var tags: [String]?
        var leavesTarget: Bool?
    }

    /// Something of the caller's own that goes along to the transport
    /// (``TransportRequest/context``), for a wrapper around it: what a plugin noted, say.
    ///
    /// The engine never reads it, and it is neither in the key nor in the store. It goes along with
    /// everything that is sent for this request: the validation in the background of what answered
    /// it, and the probe for its origin's return. A caller whose request joined another's fetch
    /// sent nothing, so its context goes nowhere.
    public var context: (any Sendable)? {
        get { rare?.context }
        set { setRare(\.context, newValue) }
    }

    /// Looks at the content of a success before it is stored; see ``ContentCheck``.
    public var contentCheck: ContentCheck? {
        get { rare?.contentCheck }
        set { setRare(\.contentCheck, newValue) }
    }

    /// Keeps good stored data from being replaced by what looks wrong, where neither the engine's
    /// options nor a rule say how.
    package var goodDataGuard: GoodDataGuard? {
        get { rare?.goodDataGuard }
        set { setRare(\.goodDataGuard, newValue) }
    }

    /// Names of parameters in the query that are credentials: an API key, say. A trailing `*`
    /// stands for any ending.
    ///
    /// They are sent. Their values are neither in the key's target nor anywhere else in the store,
    /// nor in a message, a log or a span: an answer whose fields repeat one is not stored, and a
    /// body is the origin's own business. As `Authorization` does, they make a principal by an
    /// HMAC, unless ``principal`` names one. What is invalidated or watched by a request that names
    /// them is what is keyed without them. Rules see the target without them, too.
    public var secretParameters: Set<String> {
        get { secrets?.parameters ?? [] }
        set { setRare(\.secrets, RequestSecrets(parameters: newValue, fields: secretFields)) }
    }

    /// Names of request fields that are credentials, beside those that everybody knows: they make a
    /// principal, select variants by an HMAC, and are shown nowhere.
    public var secretFields: Set<HTTPField.Name> {
        get { secrets?.fields ?? [] }
        set { setRare(\.secrets, RequestSecrets(parameters: secretParameters, fields: newValue)) }
    }

    /// See ``secretParameters`` and ``secretFields``.
    var secrets: RequestSecrets? { rare?.secrets }

    /// What holds for this request in place of what the engine's rules say; see
    /// ``SettingsOverriding``.
    ///
    /// The mode in it bounds the engine's, as a rule's does: `offline` beats everything. Of the
    /// requests of one fetch all have equal ones.
    public var overrides: (any SettingsOverriding)? {
        get { rare?.overrides }
        set { setRare(\.overrides, newValue) }
    }

    /// A stored success that came, or was last validated, no longer ago than this answers without
    /// the network, even if it is not fresh: so that the same request is not sent twice within a
    /// chosen time.
    ///
    /// Counted from when its answer came, not by its `Age`. What forbids the use without validation
    /// is honoured (`no-cache`, `must-revalidate`, an invalidation, the request's own `no-cache`,
    /// `max-age` and `min-fresh`, an operator's budget), and who asks the network alone
    /// (``CacheRequest/Preference/networkOnly``) has the network.
    public var reuseWithin: Duration? {
        get { rare?.reuseWithin }
        set { setRare(\.reuseWithin, newValue) }
    }

    /// Tags that what this request stores has beside its cache groups and the rules'
    /// (``ResponseDraft/tags``), so that it can be invalidated with others.
    ///
    /// They are stored as they are, so no secret belongs into them. A caller whose request joined
    /// another's fetch finds stored what has that one's tags, and what a 304 renews has those of
    /// the request that it came to.
    public var tags: [String] {
        get { rare?.tags ?? [] }
        set { setRare(\.tags, newValue.isEmpty ? nil : newValue) }
    }

    /// Whether a success makes what is stored for this very target out of date, where the method is
    /// unsafe and the content not part of the key. RFC 9111 §4.4
    ///
    /// `true`: a cache cannot know better. A caller can, who reads by POST, or whose API has one
    /// URL for everything. What the answer itself names (`Location`, `Content-Location`, cache
    /// groups) is invalidated in any case.
    public var invalidatesTarget: Bool {
        get { rare?.leavesTarget != true }
        set { setRare(\.leavesTarget, newValue ? nil : true) }
    }

    /// Sets a part; what is not there is not made for nothing.
    private mutating func setRare<Value>(_ path: WritableKeyPath<RareParts, Value?>, _ value: Value?) {
        guard value != nil || rare != nil else { return }
        var parts = rare ?? RareParts()
        parts[keyPath: path] = value
        rare = parts
    }
}
