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
    /// The numbers of the servers to try, in order.
    private var waiting: [Int] = []
    /// Those that are set aside, the first one due first. They are tried only if no other server
    /// responded.
    private var reserve: [Int] = []

    /// - Parameters:
    ///   - availabilities: those of all servers: the origin's own, then its mirrors.
    ///   - firstMirror: the number of the first mirror.
    init(_ availabilities: [ServerStanding.Availability], firstMirror: Int, _ request: Request) {
        self.request = request
        var aside: [(until: NIODeadline, number: Int)] = []
        for (number, availability) in availabilities.enumerated() where request.isSafe || number < firstMirror {
            switch availability {
            case .available: waiting.append(number)
            case .aside(let until): aside.append((until, number))
            }
        }
        reserve = aside.sorted { $0 < $1 }.map(\.number)
    }

    /// A server to try.
    struct Attempt: Sendable, Hashable {
        var server: Int
        /// The number of servers that share the time that is left, this one included. 1 for a
        /// request that no other server gets once it was sent.
        var shares: Int
    }

    /// Takes out the server to try first; there always is one.
    ///
    /// - Parameter claim: see ``ServerStanding/begin(at:)``. A server that another request claimed
    ///   is tried after the others.
    mutating func take(_ claim: (_ server: Int) -> Bool = { _ in true }) -> Attempt? {
        if let attempt = takeWaiting(claim) { return attempt }
        guard !reserve.isEmpty else { return nil }
        return attempt(at: reserve.removeFirst(), others: reserve.count)
    }

    private mutating func takeWaiting(_ claim: (_ server: Int) -> Bool) -> Attempt? {
        while !waiting.isEmpty {
            let server = waiting.removeFirst()
            // Those that are set aside have one turn together.
            if claim(server) { return attempt(at: server, others: waiting.count + (reserve.isEmpty ? 0 : 1)) }
            reserve.append(server)
        }
        return nil
    }

    private func attempt(at server: Int, others: Int) -> Attempt {
        Attempt(server: server, shares: request.isRepeatable ? 1 + others : 1)
    }

    /// Takes out the server to try after an attempt.
    ///
    /// - Parameter isTimeOver: whether the time for the whole request has passed.
    /// - Returns: `nil` if the client gets the outcome.
    mutating func next(
        after outcome: Outcome,
        isTimeOver: Bool,
        _ claim: (_ server: Int) -> Bool = { _ in true }
    ) -> Attempt? {
        guard !isTimeOver, Self.isFault(outcome) else { return nil }
        switch outcome {
        case .response:
            // A response is worth more than a server that is likely to fail.
            return request.isRepeatable ? takeWaiting(claim) : nil
        case .failure(_, let isUnsent): return request.isRepeatable || isUnsent ? take(claim) : nil
        }
    }

    /// Whether the server is to blame, so that another one may do better.
    static func isFault(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .response(let status): (502...504).contains(status)
        case .failure(let code, _): code.isUnreachable || code == .protocolViolation
        }
    }
}
