public import HTTPCacheSemantics
public import HTTPTypes

/// The settings of one exchange that an operator's rules put in place of the engine's options. Each
/// setting has the value of the first rule that has it.
///
/// The defaults change nothing.
public struct ExchangeSettings: Sendable, Hashable {
    /// A rule's choice for one setting of the engine.
    public enum Override<Value: Sendable & Hashable>: Sendable, Hashable {
        /// The engine's own value.
        case inherited
        /// Off, whatever the engine's value is.
        case off
        /// The rule's value.
        case value(Value)
    }

    /// The content that becomes part of the key, so that the response to a POST may be stored. RFC
    /// 9111 §2
    public enum KeyedContent: Sendable, Hashable {
        /// Only the content of a QUERY, and content that the caller asked to key.
        case asRequested
        /// The content of every POST.
        case any
        /// The content of a POST that holds a GraphQL query: no mutation, no subscription.
        case graphQL
    }

    /// The part of a request that identifies its principal. Its value goes into the key only as an
    /// HMAC.
    public enum PrincipalSource: Sendable, Hashable {
        /// A request field that an authenticator in front sets.
        case field(HTTPField.Name)
        /// A cookie.
        case cookie(String)

        /// The field, if the source is one.
        package var field: HTTPField.Name? {
            if case .field(let name) = self { name } else { nil }
        }
    }

    // MARK: Before a response is known

    /// Whether requests bypass the store: responses are neither stored nor served from it.
    public var isBypassed = false
    /// Methods whose requests are answered from the store and stored; others are forwarded. GET
    /// includes HEAD, as in the key. `nil`: GET, HEAD, QUERY and requests whose content is in the
    /// key.
    public var methods: Set<HTTPRequest.Method>?
    /// Whether responses may be shared with the other nodes of a fleet. Purges are shared in any
    /// case.
    public var isForFleet = true
    /// Changes to the target, and parameters that are left out of the key.
    public var target = TargetRewriting()
    /// Request fields that neither select a variant nor identify a principal. They are sent, and
    /// not stored.
    public var ignoredFields: Set<HTTPField.Name> = []
    /// Whether `Accept-Encoding` is sent and keyed in one spelling for all requests that mean the
    /// same. RFC 9110 §12.5.3
    public var normalizesAcceptEncoding = false
    /// See ``KeyedContent``.
    public var keyedContent = KeyedContent.asRequested
    /// Stores responses per principal: as a private cache, in the principal's partition and nowhere
    /// else. Requests without a principal are handled as usual.
    public var principal: PrincipalSource?
    /// Fields that are set in and removed from requests to the origin. Neither affects the key.
    /// Removed fields are gone before the key is made. Set fields are the same for all, and are
    /// added when the request is sent.
    public var requestFields = FieldEdits()
    /// How much of the network may be used. The smaller of this and the engine's mode applies:
    /// `offline` beats everything.
    public var mode: OfflineMode?
    /// See ``EngineOptions/softTimeout``.
    public var softTimeout = Override<Duration>.inherited
    /// See ``EngineOptions/hardTimeout``.
    public var hardTimeout = Override<Duration>.inherited
    /// Whether the origin's breaker applies to these requests.
    public var usesBreaker = true

    // MARK: With a response

    /// Fields that are set in and removed from responses to clients. The stored response stays as
    /// it came.
    public var responseFields = FieldEdits()
    /// See ``EngineOptions/eagerRefresh``.
    public var eagerRefresh = Override<Double>.inherited
    /// See ``EngineOptions/goodDataGuard``. The content type of the stored response decides which
    /// rule applies, because that response is to be kept.
    public var goodDataGuard = Override<GoodDataGuard>.inherited
    /// Tags that responses are stored under, besides their cache groups.
    public var tags: [String] = []
    /// Fields of responses that name more tags. Clients do not get these fields. The stored
    /// response keeps them, so that a 304 renews them as it renews other fields.
    public var tagFields: [TagField] = []
    /// Whether stored responses are protected from eviction.
    public var isPinned = false
    /// Longer bodies, in bytes, are not stored.
    public var maximumBodyLength: Int64?
    /// Shorter bodies, in bytes, are not stored.
    public var minimumBodyLength: Int64?
    /// Overrides of freshness and staleness, and of the statuses and directives that apply.
    public var overrides = PolicyOverrides()

    /// The defaults.
    public init() {}

    /// Whether requests with a method may be answered from the store: see ``methods``.
    package func admits(_ method: HTTPRequest.Method) -> Bool {
        guard let methods else { return true }
        return methods.contains(method) || (method == .head && methods.contains(.get))
    }

    /// Whether the content of a POST may be in its key.
    var mayKeyContent: Bool { keyedContent != .asRequested && !isBypassed && admits(.post) }

    /// Whether responses with a status are stored, and served if stored already: see
    /// ``PolicyOverrides/statuses``. A part is treated as the whole that it belongs to.
    func stores(_ status: HTTPResponse.Status) -> Bool {
        guard let statuses = overrides.statuses else { return true }
        return statuses.contains(status == .partialContent ? 200 : status.code)
    }
}

/// Fields to set and to remove. Removing comes first.
public struct FieldEdits: Sendable, Hashable {
    /// Names whose fields are removed.
    public var removed: Set<HTTPField.Name>
    /// Fields that replace all fields of the same name. Their values may be secrets, and appear in
    /// no message.
    public var set: HTTPFields

    /// Edits; none by default.
    public init(removed: Set<HTTPField.Name> = [], set: HTTPFields = [:]) {
        self.removed = removed
        self.set = set
    }

    /// Whether there are no edits.
    public var isEmpty: Bool { removed.isEmpty && set.isEmpty }
}

/// Descriptions show names only: a value may be a secret, and descriptions end up in logs.
extension FieldEdits: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `remove: cookie; set: x-api-key`
    public var description: String {
        let removed = removed.map(\.canonicalName).sorted().joined(separator: ", ")
        return "remove: \(removed); set: \(set.map(\.name.canonicalName).joined(separator: ", "))"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The changes that rules make to a target.
public struct TargetRewriting: Sendable, Hashable {
    /// Parameters that are removed before the request is keyed and sent. A trailing `*` stands for
    /// any ending.
    public var droppedParameters: [String] = []
    /// Whether parameters are keyed and sent in the order of their names. Values of one name keep
    /// their order.
    public var sortsParameters = false
    /// Parameters that are sent and not keyed. Requests that differ only in them get the same
    /// response, and their values are not in the store. A trailing `*` stands for any ending.
    public var ignoredParameters: [String] = []

    /// No changes.
    public init() {}

    /// Whether there are no changes.
    public var isEmpty: Bool { self == TargetRewriting() }
}
