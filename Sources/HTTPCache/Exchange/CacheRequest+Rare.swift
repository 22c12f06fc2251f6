extension CacheRequest {
    /// What few requests have.
    struct RareParts: Sendable {
        var context: (any Sendable)?
        var contentCheck: ContentCheck?
    }

    /// Something of the caller's own that goes along to the transport (``TransportRequest/context``), for a wrapper around it: what a plugin noted, say.
    ///
    /// The engine never reads it, and it is neither in the key nor in the store. It goes along with everything that is sent for this request: the validation in the background of
    /// what answered it, and the probe for its origin's return. A caller whose request joined another's fetch sent nothing, so its context goes nowhere.
    public var context: (any Sendable)? {
        get { rare?.context }
        set { setRare(\.context, newValue) }
    }

    /// Looks at the content of a success before it is stored; see ``ContentCheck``.
    public var contentCheck: ContentCheck? {
        get { rare?.contentCheck }
        set { setRare(\.contentCheck, newValue) }
    }

    /// Sets a part; what is not there is not made for nothing.
    private mutating func setRare<Value>(_ path: WritableKeyPath<RareParts, Value?>, _ value: Value?) {
        guard value != nil || rare != nil else { return }
        var parts = rare ?? RareParts()
        parts[keyPath: path] = value
        rare = parts
    }
}
