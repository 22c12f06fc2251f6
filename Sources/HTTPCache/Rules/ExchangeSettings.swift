public import HTTPCacheSemantics
public import HTTPTypes

/// The settings of one exchange, as decided by an operator's rules. They override the engine's
/// options. Each setting has the value of the first rule that sets it.
///
/// The defaults leave all of the engine's behavior unchanged.
public struct ExchangeSettings: Sendable, Hashable {
    /// A rule's value for one setting of the engine.
    public enum Override<Value: Sendable & Hashable>: Sendable, Hashable {
        /// Use the engine's own value.
        case inherited
        /// Turn the setting off, regardless of the engine's value.
        case off
        /// Use the rule's value.
        case value(Value)
    }

    /// The content that becomes part of the key, so that the response to a POST may be stored. RFC
    /// 9111 §2
    public enum KeyedContent: Sendable, Hashable {
        /// Only the content of a QUERY, and content that the caller requested to include.
        case asRequested
        /// The content of every POST.
        case any
        /// The content of a POST that contains a GraphQL query, but not a mutation or a
        /// subscription.
        case graphQL
        /// The content of every POST. JSON is keyed in a canonical form, so neither the order of
        /// members nor white space distinguishes requests: see ``ExchangeSettings/ignoredMembers``.
        /// Other content is keyed by its bytes, and so is JSON that servers may read in different
        /// ways: with a member that occurs twice, or nested too deeply.
        case json
    }

    /// The part of a request that identifies its principal. Its value goes into the key only as an
    /// HMAC.
    public enum PrincipalSource: Sendable, Hashable {
        /// A request field that an upstream authenticator sets.
        case field(HTTPField.Name)
        /// A cookie.
        case cookie(String)

        /// The field, if the source is a field.
        package var field: HTTPField.Name? {
            if case .field(let name) = self { name } else { nil }
        }
    }

    // MARK: Before a response is known

    /// Whether requests bypass the store: responses are neither stored nor served from it.
    public var isBypassed = false
    /// The methods whose responses are stored and served from the store; requests with other
    /// methods are forwarded. GET includes HEAD, as in the key. `nil` means GET, HEAD, QUERY and
    /// requests whose content is in the key.
    public var methods: Set<HTTPRequest.Method>?
    /// Whether responses may be shared with other nodes of the fleet. Purges are always shared.
    public var isForFleet = true
    /// Changes to the target, and parameters that are excluded from the key.
    public var target = TargetRewriting()
    /// Request fields that neither select a variant nor identify a principal. They are sent but not
    /// stored.
    public var ignoredFields: Set<HTTPField.Name> = []
    /// The cookies that affect responses; `nil` leaves every cookie in the request.
    public var cookies: CookieRule?
    /// Values of cookies and fields that select one of several responses for all clients. Other
    /// values of these cookies and fields are removed.
    public var listed = ListedValues()
    /// Whether equivalent values of `Accept-Encoding` are sent and keyed in a single spelling. RFC
    /// 9110 §12.5.3
    public var normalizesAcceptEncoding = false
    /// The content that becomes part of the key.
    public var keyedContent = KeyedContent.asRequested
    /// Members of JSON content that are sent but not keyed, with ``KeyedContent/json``. Requests
    /// that differ only in these members get the same response.
    public var ignoredMembers = MemberPaths([])
    /// Whether requests with credentials use the store. If not, they bypass it.
    public var admitsCredentials = true
    /// The event streams that are stored; `nil` for none.
    public var eventStreams: EventStreamRule?
    /// The source of the principal. Responses are stored per principal, as in a private cache: only
    /// in the principal's partition. Requests without a principal are handled as usual.
    public var principal: PrincipalSource?
    /// Fields to set in, and remove from, requests to the origin. These fields do not affect the
    /// key. Both removed and set fields are taken out of the request before the key is built, and
    /// set fields are added when the request is sent.
    public var requestFields = FieldEdits()
    /// How much of the network may be used. The more restrictive of this mode and the engine's mode
    /// applies; `offline` always wins.
    public var mode: OfflineMode?
    /// See ``EngineOptions/softTimeout``.
    public var softTimeout = Override<Duration>.inherited
    /// See ``EngineOptions/hardTimeout``.
    public var hardTimeout = Override<Duration>.inherited
    /// Whether the origin's circuit breaker applies to these requests.
    public var usesBreaker = true

    /// Changes to the origin's responses before they are judged.
    public var fromOrigin = OriginFieldEdits()

    // MARK: With a response

    /// Fields to set in, and remove from, responses to clients. The stored response does not
    /// change.
    public var responseFields = FieldEdits()
    /// See ``EngineOptions/eagerRefresh``.
    public var eagerRefresh = Override<Double>.inherited
    /// See ``EngineOptions/goodDataGuard``. The content type of the stored response decides which
    /// rule applies, because the guard protects that response.
    public var goodDataGuard = Override<GoodDataGuard>.inherited
    /// Tags that responses are stored under, in addition to their cache groups.
    public var tags: [String] = []
    /// Response fields that name additional tags. Clients do not receive these fields. The stored
    /// response keeps them, so that a 304 updates them like other fields.
    public var tagFields: [TagField] = []
    /// Whether stored responses are protected from eviction.
    public var isPinned = false
    /// The number of times that a response must have been asked for before it is stored, at least
    /// 1. Earlier responses are only forwarded. Pinned responses, refreshes, recordings, and
    /// responses to requests for which something is stored are stored at once.
    public var leastUses = 1
    /// The maximum length of stored bodies, in bytes. Longer bodies are not stored.
    public var maximumBodyLength: Int64?
    /// The minimum length of stored bodies, in bytes. Shorter bodies are not stored.
    public var minimumBodyLength: Int64?
    /// Overrides of freshness and staleness, and of the statuses and directives that apply.
    public var overrides = PolicyOverrides()

    /// Creates the default settings.
    public init() {}

    /// Returns whether requests with a method may be answered from the store: see ``methods``.
    package func admits(_ method: HTTPRequest.Method) -> Bool {
        guard let methods else { return true }
        return methods.contains(method) || (method == .head && methods.contains(.get))
    }

    /// Whether the content of a POST may be part of its key.
    var mayKeyContent: Bool { keyedContent != .asRequested && !isBypassed && admits(.post) }

    /// Returns whether responses with a status are stored, and served if they are already stored:
    /// see ``PolicyOverrides/statuses``. A partial response is treated like the complete response
    /// that it belongs to.
    func stores(_ status: HTTPResponse.Status) -> Bool {
        guard let statuses = overrides.statuses else { return true }
        return statuses.contains(status == .partialContent ? 200 : status.code)
    }
}

/// The cookies of requests that an operator keeps. The others affect no stored response.
public struct CookieRule: Sendable, Hashable {
    /// The names of the cookies that affect responses. The others are removed before the request is
    /// keyed, so a request without a kept cookie is anonymous.
    ///
    /// If the `Cookie` field does not have the strict form of RFC 6265 §4.2.1, no cookie is
    /// removed: servers read such fields in different ways. The request then has credentials.
    public var kept: CookieNames
    /// Whether the other cookies are still sent. If so, the response is not stored, because it may
    /// depend on a cookie that is not in the key.
    public var forwardsAll: Bool

    /// Creates a rule.
    public init(kept: CookieNames, forwardsAll: Bool = false) {
        self.kept = kept
        self.forwardsAll = forwardsAll
    }
}

/// Values of cookies and fields that select one of several responses for all clients, as if
/// `Vary` named them. No other value of these cookies and fields reaches the origin, so the number
/// of responses is bounded.
public struct ListedValues: Sendable, Hashable {
    /// The values by the cookie's name. A cookie in ``CookieRule/kept`` is a credential, so it
    /// selects nothing.
    public var cookies: [String: [String]]
    /// The values by the field's name. A field with another value, or with several lines, is
    /// removed.
    public var fields: [HTTPField.Name: [String]]

    /// Creates lists.
    public init(cookies: [String: [String]] = [:], fields: [HTTPField.Name: [String]] = [:]) {
        self.cookies = cookies
        self.fields = fields
    }

    /// Whether nothing is listed.
    public var isEmpty: Bool { cookies.isEmpty && fields.isEmpty }
}

/// The event streams (`text/event-stream`) that an operator stores. Others are forwarded, because a
/// stream may have no end that a later reader could wait for.
public struct EventStreamRule: Sendable, Hashable {
    /// The maximum length of a stored stream, in bytes.
    public var largest: Int64
    /// The text that the last event must hold. Without it, a stream cannot be told from one that
    /// was cut short. HTML §9.2.6
    public var ending: String

    /// Creates a rule.
    public init(largest: Int64 = 4 << 20, ending: String) {
        self.largest = largest
        self.ending = ending
    }

    /// Returns whether a response is an event stream that can be read as it arrives.
    static func applies(to fields: HTTPFields) -> Bool {
        fields[.contentType]?.mediaType == "text/event-stream"
            && fields[values: .contentEncoding].allSatisfy { $0.lowercased() == "identity" }
    }
}

/// The changes that rules make to a target.
public struct TargetRewriting: Sendable, Hashable {
    /// Parameters that are removed before the request is keyed and sent. A trailing `*` matches any
    /// suffix.
    public var droppedParameters: [String] = []
    /// Whether parameters are sorted by name before they are keyed and sent. Values of the same
    /// name keep their order.
    public var sortsParameters = false
    /// Parameters that are sent but not keyed. Requests that differ only in these parameters get
    /// the same response, and their values are not stored. A trailing `*` matches any suffix.
    public var ignoredParameters: [String] = []

    /// Creates a value without changes.
    public init() {}

    /// Whether there are no changes.
    public var isEmpty: Bool { self == TargetRewriting() }
}

extension ExchangeSettings.Override {
    /// Returns the value that applies: the engine's or the rule's.
    package func resolved(_ inherited: Value?) -> Value? {
        switch self {
        case .inherited: inherited
        case .off: nil
        case .value(let value): value
        }
    }
}
