/// How an exchange ended, in the words of RFC 9211: the same in `Cache-Status`, logs, metrics and
/// the API.
public struct CacheOutcome: Sendable, Hashable {
    /// Why a request was forwarded. RFC 9211 §2.2
    public enum ForwardReason: String, Sendable, Hashable, CaseIterable {
        case bypass, method, uriMiss = "uri-miss", varyMiss = "vary-miss", miss, request, stale, partial
    }
    /// The stored response answered and nothing was forwarded. RFC 9211 §2.1
    public var isHit: Bool
    /// RFC 9211 §2.2.
    public var forward: ForwardReason?
    /// The status that the origin answered with, where it differs from what is served (304). RFC
    /// 9211 §2.3
    public var forwardStatus: Int?
    /// Seconds of freshness left, negative when stale. RFC 9211 §2.4
    public var timeToLive: Int64?
    /// The response was stored. RFC 9211 §2.5
    public var isStored: Bool
    /// Why a response that the origin sent for this request was not stored. `nil` where it was
    /// stored, where no origin sent one, and where a 304 confirmed what is stored. It is not
    /// written into `Cache-Status`.
    public var notStored: StorageRefusal?
    /// The answer came from another request's fetch. RFC 9211 §2.6
    public var isCollapsed: Bool
    /// A bounded word for people and programs: `offline`, `unreachable`, `stale-if-error`, …  RFC
    /// 9211 §2.8.
    public var detail: Detail?

    /// The details this project uses; each is a token.
    public struct Detail: Sendable, Hashable, CustomStringConvertible {
        /// The token.
        public let description: String
        /// Makes a detail; a token of RFC 9110 §5.6.2, so that it needs no quotes.
        public init(_ token: StaticString) { description = "\(token)" }
        /// The network is away: the mode is `offline`, or the origin could not be reached.
        public static let offline = Detail("offline")
        /// A success of an unsafe method invalidated it, and an operator lets it answer while the
        /// network is away. RFC 9111 §4.4
        public static let invalidated = Detail("invalidated")
        /// The origin answered with a server error.
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

    /// This outcome as one member of `Cache-Status`: `holdfast; hit; ttl=-3600; detail=offline`.
    /// RFC 9211 §2
    ///
    /// Of `hit` and `fwd` only one is written, `hit` first; `fwd-status`, `stored` and `collapsed`
    /// go with `fwd`. A name or detail that is no token is written as a string, with `?` for what a
    /// string cannot hold.
    public func cacheStatus(cache name: String = "holdfast") -> String {
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
            result += "; ttl=\(min(max(timeToLive, -999_999_999_999_999), 999_999_999_999_999))"
        }
        if !isHit {
            if isStored { result += "; stored" }
            if isCollapsed { result += "; collapsed" }
        }
        if let detail { result += "; detail=\(Self.item(detail.description))" }
        return result
    }

    /// A token of RFC 9651 §3.3.4 as it is, anything else as a string of §3.3.3.
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
    /// Nothing was stored for the request, and nothing said of its answer.
    package static let uriMiss = CacheOutcome(forward: .uriMiss)
}
