import HTTPCache
import HTTPCacheSemantics
import HTTPWire

extension Problem {
    /// Problems that do not come from the engine or a malformed message, for example a rejected
    /// request or a limit that was reached.
    enum Own: String, CaseIterable {
        case clientNotAllowed = "client-not-allowed"
        case dotSegment = "dot-segment"
        case forbiddenHost = "forbidden-host"
        case forbiddenPort = "forbidden-port"
        case `internal`
        case invalidPurge = "invalid-purge"
        case lastForward = "last-forward"
        case loop
        case methodNotAllowed = "method-not-allowed"
        case misdirected
        case noCertificate = "no-certificate"
        case noRoute = "no-route"
        case notSwitched = "not-switched"
        case proxyPassword = "proxy-password"
        case tooManyConnections = "too-many-connections"
        case tooManyConnectionsOfClient = "too-many-connections-of-client"
        case tooManyHosts = "too-many-hosts"
        case tooManyRequests = "too-many-requests"
        case tooManyTunnels = "too-many-tunnels"
        case unknownHost = "unknown-host"
        case upgradeNotAllowed = "upgrade-not-allowed"
        case wrongKey = "wrong-websocket-key"
    }

    /// Creates a problem of the gateway itself.
    init(
        _ own: Own,
        title: String,
        status: Int,
        detail: String,
        advice: String? = nil,
        outcome: CacheOutcome = CacheOutcome(detail: CacheOutcome.Detail("refused")),
        retryAfter: Int? = nil
    ) {
        self.init(
            code: own.rawValue,
            title: title,
            status: status,
            detail: detail,
            advice: advice,
            outcome: outcome,
            retryAfter: retryAfter
        )
    }

    /// All codes, in alphabetical order. A response with any other code counts as ``otherCode``.
    static let codes: [String] = {
        let exchange = ExchangeError.Code.all.map(\.description)
        let message = MessageRefusal.Reason.allCases.map(\.rawValue)
        return Set(Own.allCases.map(\.rawValue) + exchange + message + [ContentTooLarge.code]).sorted()
    }()

    static let otherCode = "other"

    /// Returns the index of a code in ``codes``; one past the last index for any other code.
    static func number(ofCode code: String) -> Int { numbers[code] ?? codes.count }

    private static let numbers = Dictionary(uniqueKeysWithValues: codes.enumerated().map { ($1, $0) })
}
