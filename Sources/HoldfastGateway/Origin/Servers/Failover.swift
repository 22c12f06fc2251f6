import HTTPCache
import NIOCore

/// Decides which server of an origin a request is sent to next, and which response or failure its
/// client gets. Pure: one value for each request.
struct Failover: Sendable {
    /// The request, as far as it matters here.
    struct Request: Sendable, Hashable {
        /// Whether it only reads. RFC 9110 §9.2.1. A mirror gets no other.
        var isSafe: Bool
        /// Whether it may be sent again. See ``OriginRequest/isRepeatable``.
        var isRepeatable: Bool
        /// Whether it has credentials. A mirror gets such a request only if the configuration says
        /// so.
        var hasCredentials = false
    }

    /// A server, as far as it matters here.
    struct Server: Sendable, Hashable {
        var availability = ServerHealth.Availability.available
        /// Whether it belongs to another owner.
        var isMirror = false
        /// Whether it gets credentials all the same.
        var takesCredentials = false
    }

    /// How an attempt ended.
    enum Outcome: Sendable, Hashable {
        /// A response with this status came.
        case response(status: Int)
        /// None came. `isUnsent`: the server cannot have received the request, and none of its
        /// content was read.
        case failure(TransportError.Code, isUnsent: Bool)
    }

    private let request: Request
    private let servers: [Server]
    /// Whether servers of the origin do not get this request.
    let isRestricted: Bool
    /// The numbers of the servers to try, in order.
    private var waiting: [Int] = []
    /// Those that are set aside, in order. They are tried when no other server is left.
    private var reserve: [Int] = []
    /// The worth of the outcome that the client gets if nothing better comes.
    private var best: Worth?

    /// - Parameter servers: all of them: the origin's own, then its mirrors.
    init(_ servers: [Server], _ request: Request) {
        (self.servers, self.request) = (servers, request)
        isRestricted = !servers.allSatisfy { Self.mayHave(request, $0) }
        for (number, server) in servers.enumerated() where Self.mayHave(request, server) {
            switch server.availability {
            case .available: waiting.append(number)
            case .aside: reserve.append(number)
            }
        }
    }

    private static func mayHave(_ request: Request, _ server: Server) -> Bool {
        !server.isMirror || (request.isSafe && (!request.hasCredentials || server.takesCredentials))
    }

    /// A server to try.
    struct Attempt: Sendable, Hashable {
        var server: Int
        /// The number of servers that share the time that is left, this one included. 1 for a
        /// request that no other server gets once it was sent.
        var shares: Int
        /// Whether the server is set aside, and the client has a response already if this fails:
        /// then it may take only ``ServerHealth/lastChance``.
        var isLastChance = false
    }

    /// Takes out the server to try first.
    ///
    /// If a request that only reads is for servers that are set aside, and no mirror gets it, it
    /// fails soon: no breaker opens for it, since the mirrors may respond to others.
    ///
    /// - Parameter mayTry: see ``ServerHealth/beginLastChance(at:)``.
    /// - Returns: `nil` if it fails at once.
    mutating func first(_ mayTry: (_ server: Int) -> Bool = { _ in true }) -> Attempt? {
        waiting.isEmpty && isRestricted && request.isSafe ? takeLastChance(mayTry) : take()
    }

    /// Takes out the next server to try.
    private mutating func take() -> Attempt? {
        if !waiting.isEmpty {
            let server = waiting.removeFirst()
            // Those that are set aside have one turn together.
            return attempt(at: server, others: waiting.count + (reserve.isEmpty ? 0 : 1))
        }
        guard !reserve.isEmpty else { return nil }
        return attempt(at: reserve.removeFirst(), others: reserve.count)
    }

    private func attempt(at server: Int, others: Int) -> Attempt {
        Attempt(server: server, shares: request.isRepeatable ? 1 + others : 1)
    }

    /// Takes out the server to try after an attempt.
    ///
    /// - Parameters:
    ///   - isTimeOver: whether the time for the whole request has passed.
    ///   - mayTry: see ``ServerHealth/beginLastChance(at:)``.
    /// - Returns: `nil` if the client gets the best outcome so far.
    mutating func next(
        after outcome: Outcome,
        of server: Int,
        isTimeOver: Bool,
        _ mayTry: (_ server: Int) -> Bool = { _ in true }
    ) -> Attempt? {
        guard !isTimeOver, mayGoOn(after: outcome, of: server) else { return nil }
        guard best.map({ $0 >= .error }) == true, waiting.isEmpty else { return take() }
        // A server that is set aside may do better than an error. It must not cost much.
        return takeLastChance(mayTry)
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

    /// The worth of an outcome for the client, the least first.
    private enum Worth: Int, Comparable {
        /// No server was reached.
        case unreachable
        /// A server was reached and did not respond. That the next one cannot be reached says less:
        /// the origin is not unreachable.
        case unanswered
        /// 502, 503 or 504.
        case error
        /// A mirror does not have it. Whether the origin has it is not known.
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

    /// Whether the client gets this outcome in place of those before it, if it is the last one.
    mutating func keeps(_ outcome: Outcome, of server: Int) -> Bool {
        let worth = worth(of: outcome, server)
        if let best, worth < best { return false }
        best = worth
        return true
    }

    /// Whether the server is to blame, so that another one may do better.
    static func isFault(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .response(let status): (502...504).contains(status)
        case .failure(let code, _): code.isUnreachable || code == .protocolViolation
        }
    }
}

extension FailureEvidence.Failure {
    /// The kind of a fault of a server; `nil` if it is not to blame.
    init?(_ outcome: Failover.Outcome) {
        guard Failover.isFault(outcome) else { return nil }
        switch outcome {
        case .response: self = .hangUp
        case .failure(let code, _): self = Self(code) ?? .hangUp
        }
    }
}
