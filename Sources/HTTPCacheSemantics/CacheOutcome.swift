/// How an exchange ended, in the terms of RFC 9211. `Cache-Status`, logs, metrics and the API all
/// use it.
public struct CacheOutcome: Sendable, Hashable {
    /// Why a request was forwarded. RFC 9211 §2.2
    public enum ForwardReason: String, Sendable, Hashable, CaseIterable {
        case bypass, method, uriMiss = "uri-miss", varyMiss = "vary-miss", miss, request, stale, partial
    }
    /// The request was served from a stored response, and nothing was forwarded. RFC 9211 §2.1
    public var isHit: Bool
    /// Why the request was forwarded; `nil` when it was not. RFC 9211 §2.2
    public var forward: ForwardReason?
    /// The origin's status, if it differs from the status that is served (304). RFC 9211 §2.3
    public var forwardStatus: Int?
    /// Seconds of freshness left, negative when stale. RFC 9211 §2.4
    public var timeToLive: Int64?
    /// The response was stored. RFC 9211 §2.5
    public var isStored: Bool
    /// Why the origin's response to this request was not stored.
    ///
    /// `nil` if it was stored, if no origin sent one, and if a 304 confirmed the stored response.
    /// `Cache-Status` does not contain it.
    public var notStored: StorageRefusal?
    /// The response came from a fetch that another request started. RFC 9211 §2.6
    public var isCollapsed: Bool
    /// A word from a fixed set, for people and programs: `unreachable`, `stale-if-error`, …
    /// RFC 9211 §2.8
    public var detail: Detail?
    /// A stored response is served in place of an error with which the origin responded, now or a
    /// moment ago. ``detail`` may name the directive that a rule overrides for it, as in an outage;
    /// `Cache-Status` does not tell these apart.
    package var standsInForError = false

    /// A detail of an outcome: a token of RFC 9110 §5.6.2.
    public struct Detail: Sendable, Hashable, CustomStringConvertible {
        /// The token.
        public let description: String
        /// Makes a detail. Give a token of RFC 9110 §5.6.2, so that it needs no quotes.
        public init(_ token: StaticString) { description = "\(token)" }
        /// The mode is `offline`.
        public static let offline = Detail("offline")
        /// The origin is unreachable.
        public static let unreachable = Detail("unreachable")
        /// A success of an unsafe method invalidated the stored response, and an operator allows it
        /// to be served while the origin is unreachable. RFC 9111 §4.4
        public static let invalidated = Detail("invalidated")
        /// The origin responded with a server error.
        public static let staleIfError = Detail("stale-if-error")
    }

    /// Makes an outcome.
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

    /// This outcome as one member of `Cache-Status`:
    /// `holdfast; hit; ttl=-3600; detail=unreachable`. RFC 9211 §2
    ///
    /// It contains either `hit` or `fwd`, and `hit` takes precedence. `fwd-status`, `stored` and
    /// `collapsed` appear only with `fwd`. A name or detail that is not a token is written as a
    /// string; `?` replaces each character that a string cannot hold.
    public func cacheStatus(cache name: String = "holdfast") -> String { cacheStatusMember(cache: name).text }

    /// The text of ``cacheStatus(cache:)``, and the place of the digits of `ttl` in it, in bytes;
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
            // An integer of RFC 9651 §3.3.1 has at most 15 digits.
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

    /// Writes a token of RFC 9651 §3.3.4 unchanged, and anything else as a string of §3.3.3.
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
    /// No response was stored for the request, and nothing more is known yet.
    package static let uriMiss = CacheOutcome(forward: .uriMiss)
}
