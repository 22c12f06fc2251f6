/// The outcome of an exchange, in the terms of RFC 9211. `Cache-Status`, logs, metrics and the API
/// all use it.
public struct CacheOutcome: Sendable, Hashable {
    /// The reason that a request was forwarded. RFC 9211 §2.2
    public enum ForwardReason: String, Sendable, Hashable, CaseIterable {
        /// The cache was not to be used for this request.
        case bypass
        /// The method's semantics require it.
        case method
        /// No response was stored for the target.
        case uriMiss = "uri-miss"
        /// Responses were stored for the target, but the request selects none of them.
        case varyMiss = "vary-miss"
        /// Nothing usable was stored. Sent by caches that do not distinguish ``uriMiss`` from
        /// ``varyMiss``, and by the gateway to clients that may not see details.
        case miss
        /// The request's own directives require it, such as `no-cache`.
        case request
        /// The stored response was stale, or required validation.
        case stale
        /// Only a part of the requested content was stored.
        case partial
    }
    /// Whether the request was served from a stored response, without forwarding. RFC 9211 §2.1
    public var isHit: Bool
    /// The reason that the request was forwarded; `nil` if it was not forwarded. RFC 9211 §2.2
    public var forward: ForwardReason?
    /// The origin's status, if it differs from the served status: for example, 304 or 503. RFC 9211
    /// §2.3
    public var forwardStatus: Int?
    /// The seconds of freshness left; negative if stale. RFC 9211 §2.4
    public var timeToLive: Int64?
    /// Whether the response was stored. RFC 9211 §2.5
    public var isStored: Bool
    /// The reason that the origin's response was not stored.
    ///
    /// It is `nil` in these cases:
    ///
    /// - the response was stored;
    /// - no origin sent a response;
    /// - a 304 confirmed the stored response.
    ///
    /// `Cache-Status` does not contain it.
    public var notStored: StorageRefusal?
    /// Whether the response came from a fetch that another request started. RFC 9211 §2.6
    public var isCollapsed: Bool
    /// A word from a fixed set, such as `unreachable` or `stale-if-error`, for people and programs.
    /// RFC 9211 §2.8
    public var detail: Detail?
    /// Whether a stored response replaces an error that the origin sent now or a moment ago. As in
    /// an outage, ``detail`` may instead name a directive that a rule overrides; `Cache-Status`
    /// cannot tell the two cases apart.
    package var standsInForError = false

    /// A detail of an outcome: a token as defined in RFC 9110 §5.6.2.
    public struct Detail: Sendable, Hashable, CustomStringConvertible {
        /// The token.
        public let description: String
        /// Creates a detail. Pass a token (RFC 9110 §5.6.2), which needs no quotes.
        public init(_ token: StaticString) { description = "\(token)" }
        /// The mode is `offline`.
        public static let offline = Detail("offline")
        /// The origin is unreachable.
        public static let unreachable = Detail("unreachable")
        /// A successful unsafe request invalidated the stored response, but an operator allows
        /// serving it while the origin is unreachable. RFC 9111 §4.4
        public static let invalidated = Detail("invalidated")
        /// The origin responded with a server error, and a stored response was served instead.
        public static let staleIfError = Detail("stale-if-error")
    }

    /// Creates an outcome.
    public init(
        isHit: Bool = false,
        forward: ForwardReason? = nil,
        forwardStatus: Int? = nil,
        timeToLive: Int64? = nil,
        isStored: Bool = false,
        isCollapsed: Bool = false,
        detail: Detail? = nil,
        notStored: StorageRefusal? = nil
    ) {
        self.isHit = isHit
        self.forward = forward
        self.forwardStatus = forwardStatus
        self.timeToLive = timeToLive
        self.isStored = isStored
        self.isCollapsed = isCollapsed
        self.detail = detail
        self.notStored = notStored
    }

    /// Returns this outcome as one member of `Cache-Status`: `holdfast; hit; ttl=-3600;
    /// detail=unreachable`. RFC 9211 §2
    ///
    /// It contains either `hit` or `fwd`, and `hit` takes precedence. `fwd-status`, `stored` and
    /// `collapsed` appear only with `fwd`. A name or detail that is not a token is written as a
    /// string, with `?` for each character that a string cannot hold.
    public func cacheStatus(cache name: String = "holdfast") -> String { cacheStatusMember(cache: name).text }

    /// Returns the text of ``cacheStatus(cache:)`` and the byte range of its `ttl` digits, which is
    /// `nil` if it has no `ttl`.
    package func cacheStatusMember(cache name: String = "holdfast") -> (text: String, timeToLive: Range<Int>?) {
        var place: Range<Int>?
        var result = Self.item(name)
        result.reserveCapacity(64)
        if isHit {
            result += "; hit"
        } else if let forward {
            result += "; fwd=\(forward.rawValue)"
            if let forwardStatus { result += "; fwd-status=\(forwardStatus)" }
        }
        if let timeToLive {
            // An Integer has at most 15 digits. RFC 9651 §3.3.1
            result += "; ttl="
            let start = result.utf8.count
            result += String(min(max(timeToLive, -999_999_999_999_999), 999_999_999_999_999))
            place = start..<result.utf8.count
        }
        if !isHit {
            if isStored { result += "; stored" }
            if isCollapsed { result += "; collapsed" }
        }
        if let detail { result += "; detail=\(Self.item(detail.description))" }
        return (result, place)
    }

    /// Writes a token unchanged (RFC 9651 §3.3.4), and anything else as a string (§3.3.3).
    private static func item(_ text: String) -> String {
        let bytes = text.utf8
        if let first = bytes.first, first.isAlpha || first == UInt8(ascii: "*"),
            bytes.allSatisfy({ $0.isTokenByte || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") })
        {
            return text
        }
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case " "..."~": result.unicodeScalars.append(scalar)
            default: result += "?"
            }
        }
        return result + "\""
    }
}

extension CacheOutcome {
    /// No response was stored for the request, and nothing else is known yet.
    package static let uriMiss = CacheOutcome(forward: .uriMiss)
}
