public import HTTPCacheSemantics
public import HTTPTypes

/// What holds for one exchange where an operator's rules say more than the engine's options: each
/// setting with the value of the first rule that has it.
///
/// The defaults change nothing.
public struct ExchangeSettings: Sendable, Hashable {
    /// A setting of the engine's that a rule may take the place of.
    public enum Override<Value: Sendable & Hashable>: Sendable, Hashable {
        /// The engine's own.
        case inherited
        /// Off, whatever the engine's is.
        case off
        /// This one.
        case value(Value)
    }

    /// Content that becomes part of the key, so that the answer to a POST may be stored. RFC 9111
    /// §2
    public enum KeyedContent: Sendable, Hashable {
        /// None but a QUERY's, and where the caller asked for it.
        case asRequested
        /// A POST's.
        case any
        /// A POST's that holds a GraphQL query: no mutation, no subscription.
        case graphQL
    }

    /// What tells principals apart. Its value goes into the key as an HMAC only.
    public enum PrincipalSource: Sendable, Hashable {
        /// A request field that an authenticator in front sets.
        case field(HTTPField.Name)
        /// A cookie.
        case cookie(String)

        /// The field, where it is one of its own.
        var field: HTTPField.Name? {
            if case .field(let name) = self { name } else { nil }
        }
    }

    // MARK: Before a response is known

    /// Neither stored nor answered from the store.
    public var isBypassed = false
    /// Methods whose requests are answered from the store and stored; others are forwarded. GET
    /// stands for HEAD as well, as in the key. `nil`: GET, HEAD, QUERY and what is keyed with its
    /// content.
    public var methods: Set<HTTPRequest.Method>?
    /// What is changed in the target, or left out of the key.
    public var target = TargetRewriting()
    /// Request fields that neither select a variant nor tell principals apart. They are sent, and
    /// not stored.
    public var ignoredFields: Set<HTTPField.Name> = []
    /// Sends and keys `Accept-Encoding` in one spelling for all requests that mean the same. RFC
    /// 9110 §12.5.3
    public var normalizesAcceptEncoding = false
    /// See ``KeyedContent``.
    public var keyedContent = KeyedContent.asRequested
    /// Stores per principal: as a private cache, in the principal's partition and nowhere else.
    /// Requests that name no principal are handled as ever.
    public var principal: PrincipalSource?
    /// What is set and removed towards the origin. Neither is in the key: what is removed is gone
    /// before, and what is set, the same for all, is added when the request is sent.
    public var requestFields = FieldEdits()
    /// How much of the network may be used. Of this and the engine's mode the one counts that uses
    /// less: `offline` beats everything.
    public var mode: OfflineMode?
    /// See ``EngineOptions/softTimeout``.
    public var softTimeout = Override<Duration>.inherited
    /// See ``EngineOptions/hardTimeout``.
    public var hardTimeout = Override<Duration>.inherited
    /// Whether the origin's breaker counts for these requests.
    public var usesBreaker = true

    // MARK: With a response

    /// What is set and removed in answers to clients; the stored response stays as it came.
    public var responseFields = FieldEdits()
    /// See ``EngineOptions/eagerRefresh``.
    public var eagerRefresh = Override<Double>.inherited
    /// See ``EngineOptions/goodDataGuard``. The content type that counts is the stored response's,
    /// which is to be kept.
    public var goodDataGuard = Override<GoodDataGuard>.inherited
    /// Tags that responses are stored under beside their cache groups.
    public var tags: [String] = []
    /// Stored responses are not evicted.
    public var isPinned = false
    /// Bodies that are longer, in bytes, are not stored.
    public var maximumBodyLength: Int64?
    /// Bodies that are shorter, in bytes, are not stored.
    public var minimumBodyLength: Int64?
    /// Freshness, staleness, and which statuses and directives count.
    public var overrides = PolicyOverrides()

    /// The defaults.
    public init() {}

    /// Whether requests with a method may be answered from the store: see ``methods``.
    package func admits(_ method: HTTPRequest.Method) -> Bool {
        guard let methods else { return true }
        return methods.contains(method) || (method == .head && methods.contains(.get))
    }

    /// Whether responses of a status are stored, and answer where they are stored already: see
    /// ``PolicyOverrides/statuses``. A part counts as the whole that it is of.
    func stores(_ status: HTTPResponse.Status) -> Bool {
        guard let statuses = overrides.statuses else { return true }
        return statuses.contains(status == .partialContent ? 200 : status.code)
    }
}

/// Fields to set and to remove. Removing comes first.
public struct FieldEdits: Sendable, Hashable {
    /// Names whose fields are removed.
    public var removed: Set<HTTPField.Name>
    /// Fields that take the place of all of their name. Their values may be secrets, and are in no
    /// message.
    public var set: HTTPFields

    /// Edits; none by default.
    public init(removed: Set<HTTPField.Name> = [], set: HTTPFields = [:]) {
        self.removed = removed
        self.set = set
    }

    /// Whether they change nothing.
    public var isEmpty: Bool { removed.isEmpty && set.isEmpty }
}

/// Names only: a value may be a secret, and what is written out ends in a log.
extension FieldEdits: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `remove: cookie; set: x-api-key`
    public var description: String {
        let removed = removed.map(\.canonicalName).sorted().joined(separator: ", ")
        return "remove: \(removed); set: \(set.map(\.name.canonicalName).joined(separator: ", "))"
    }
    /// The same.
    public var debugDescription: String { description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What rules change in a target.
public struct TargetRewriting: Sendable, Hashable {
    /// Parameters that are taken out before the request is keyed and sent. A trailing `*` stands
    /// for any ending.
    public var droppedParameters: [String] = []
    /// Parameters are keyed and sent in the order of their names; values of one name keep their
    /// order.
    public var sortsParameters = false
    /// Parameters that are sent and not keyed: answers with other values are the same answer, and
    /// the values are not in the store. A trailing `*` stands for any ending.
    public var ignoredParameters: [String] = []

    /// None.
    public init() {}

    /// Whether they change nothing.
    public var isEmpty: Bool { self == TargetRewriting() }
}
