import HTTPCache
import NIOCore

/// Decides which of an origin's servers gets a request next, and which response or failure the
/// client gets. A pure value, one per request.
struct Failover: Sendable {
    /// The relevant facts about the request.
    struct Request: Sendable, Hashable {
        /// Whether the method is safe (RFC 9110 §9.2.1). A mirror gets only safe requests.
        var isSafe: Bool
        /// Whether the request may be retried. See ``OriginRequest/isRepeatable``.
        var isRepeatable: Bool
        /// Whether the request has credentials. A mirror gets such a request only if configured.
        var hasCredentials = false
    }

    /// The relevant facts about a server.
    struct Server: Sendable, Hashable {
        var availability = ServerHealth.Availability.available
        /// Whether the server is a mirror, which someone else may operate.
        var isMirror = false
        /// Whether the server gets credentials even if it is a mirror.
        var takesCredentials = false
        /// Whether an operator drained the server.
        var isDrained = false
        /// The server's turn. See ``ServerChoice``.
        var turn: UInt64 = 0
    }

    /// The outcome of an attempt.
    enum Outcome: Sendable, Hashable {
        /// A response with this status arrived.
        case response(status: Int)
        /// No response arrived. `isUnsent`: the server cannot have received the request, and none
        /// of its content was read.
        case failure(TransportError.Code, isUnsent: Bool)
    }

    private let request: Request
    private let servers: [Server]
    /// Whether some of the origin's servers must not get this request. A failure then shows nothing
    /// about the origin.
    let isRestricted: Bool
    /// Whether operators drained every server that may get this request.
    let isDrained: Bool
    /// Whether only servers that are set aside may get this safe request. It then fails early. No
    /// breaker opens for it, because mirrors may respond to other requests.
    private let failsEarly: Bool
    /// The indexes of the servers to try, in order.
    private var waiting: [Int] = []
    /// The indexes of servers that are set aside, in order. They are tried when no other server is
    /// left.
    private var reserve: [Int] = []
    /// The rank of the outcome that the client gets if no better one follows.
    private var best: Worth?

    /// - Parameter servers: all servers: the origin's own, then its mirrors.
    init(_ servers: [Server], _ request: Request) {
        (self.servers, self.request) = (servers, request)
        let choice = ServerChoice(among: servers) { Self.mayHave(request, $0) }
        (waiting, reserve, isDrained) = (choice.inUse, choice.aside, choice.isDrained)
        isRestricted = choice.isDrained || !servers.allSatisfy { Self.mayHave(request, $0) }
        failsEarly = isRestricted && request.isSafe && waiting.isEmpty
    }

    /// The server that gets the request first, unless the request fails immediately.
    var firstServer: Int? { waiting.first ?? reserve.first }

    private static func mayHave(_ request: Request, _ server: Server) -> Bool {
        !server.isMirror || (request.isSafe && (!request.hasCredentials || server.takesCredentials))
    }

    /// A server to try.
    struct Attempt: Sendable, Hashable {
        var server: Int
        /// The number of servers that share the remaining time, including this one. 1 for a request
        /// that no other server may get once it was sent.
        var shares: Int
        /// Whether the server is set aside, and the client already has a response if this attempt
        /// fails. The attempt may then take only ``ServerHealth/lastChance``.
        var isLastChance = false
    }

    /// Removes and returns the first server to try.
    ///
    /// - Parameter mayTry: see ``ServerHealth/beginLastChance(at:)``.
    /// - Returns: `nil` if the request fails immediately.
    mutating func first(_ mayTry: (_ server: Int) -> Bool = { _ in true }) -> Attempt? {
        failsEarly ? takeLastChance(mayTry) : take()
    }

    /// Removes and returns the next server to try.
    private mutating func take() -> Attempt? {
        if !waiting.isEmpty {
            let server = waiting.removeFirst()
            // All servers that are set aside count as one share of the time.
            return attempt(at: server, others: waiting.count + (reserve.isEmpty ? 0 : 1))
        }
        guard !reserve.isEmpty else { return nil }
        return attempt(at: reserve.removeFirst(), others: reserve.count)
    }

    private func attempt(at server: Int, others: Int) -> Attempt {
        Attempt(server: server, shares: request.isRepeatable ? 1 + others : 1)
    }

    /// Removes and returns the server to try after an attempt.
    ///
    /// - Parameters:
    ///   - isTimeOver: whether the time for the whole request is up.
    ///   - mayTry: see ``ServerHealth/beginLastChance(at:)``.
    /// - Returns: `nil` if the client gets the best outcome so far.
    mutating func next(
        after outcome: Outcome,
        of server: Int,
        isTimeOver: Bool,
        _ mayTry: (_ server: Int) -> Bool = { _ in true }
    ) -> Attempt? {
        guard !isTimeOver, mayGoOn(after: outcome, of: server) else { return nil }
        // A server that is set aside may do better than an error, but it must not take long.
        let hasError = waiting.isEmpty && best.map { $0 >= .error } == true
        return failsEarly || hasError ? takeLastChance(mayTry) : take()
    }

    private mutating func takeLastChance(_ mayTry: (_ server: Int) -> Bool) -> Attempt? {
        while !reserve.isEmpty {
            let server = reserve.removeFirst()
            guard mayTry(server) else { continue }
            var attempt = attempt(at: server, others: reserve.count)
            attempt.isLastChance = true
            return attempt
        }
        return nil
    }

    private func mayGoOn(after outcome: Outcome, of server: Int) -> Bool {
        switch outcome {
        case .response: worth(of: outcome, server) < .response && request.isRepeatable
        case .failure(_, let isUnsent): Self.isFault(outcome) && (request.isRepeatable || isUnsent)
        }
    }

    // MARK: The outcome for the client

    /// The rank of an outcome for the client, worst first.
    private enum Worth: Int, Comparable {
        /// No server was reached.
        case unreachable
        /// A server was reached but did not respond. This outranks a later server that is
        /// unreachable, because it shows that the origin is reachable.
        case unanswered
        /// 502, 503 or 504.
        case error
        /// A mirror does not have the resource. Whether the origin has it is unknown.
        case absent
        case response

        static func < (one: Worth, other: Worth) -> Bool { one.rawValue < other.rawValue }
    }

    private func worth(of outcome: Outcome, _ server: Int) -> Worth {
        switch outcome {
        case .response(let status):
            if Self.isFault(outcome) { return .error }
            return servers[server].isMirror && (400..<500).contains(status) ? .absent : .response
        case .failure(let code, _): return FailureEvidence.Failure(code) == .connection ? .unreachable : .unanswered
        }
    }

    /// Records an outcome if it is at least as good for the client as the best outcome so far.
    /// Returns whether it is.
    mutating func keeps(_ outcome: Outcome, of server: Int) -> Bool {
        let worth = worth(of: outcome, server)
        if let best, worth < best { return false }
        best = worth
        return true
    }

    /// Whether the server is at fault, so that another server may do better.
    static func isFault(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .response(let status): (502...504).contains(status)
        case .failure(let code, _): code.isUnreachable || code == .protocolViolation
        }
    }
}

extension FailureEvidence.Failure {
    /// The kind of a server's fault; `nil` if the server is not at fault.
    init?(_ outcome: Failover.Outcome) {
        guard Failover.isFault(outcome) else { return nil }
        switch outcome {
        case .response: self = .hangUp
        case .failure(let code, _): self = Self(code) ?? .hangUp
        }
    }
}
