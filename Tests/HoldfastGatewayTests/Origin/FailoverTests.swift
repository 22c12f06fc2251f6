import HTTPCache
import NIOCore
import Testing

@testable import HoldfastGateway

/// The value that decides which server of an origin is asked next.
@Suite("Failover between the servers of an origin", .timeLimit(.minutes(20))) struct FailoverTests {
    private static let get = Failover.Request(isSafe: true, isRepeatable: true)
    private static let put = Failover.Request(isSafe: false, isRepeatable: true)
    private static let post = Failover.Request(isSafe: false, isRepeatable: false)

    private static func aside(_ seconds: Int64) -> ServerStanding.Availability {
        .aside(until: .uptimeNanoseconds(UInt64(seconds) * 1_000_000_000))
    }

    /// Which outcomes let a request go on, for each kind of request.
    struct Row: Sendable, CustomTestStringConvertible {
        var outcome: Failover.Outcome
        var get: Bool
        var put: Bool
        var post: Bool
        var testDescription: String { "\(outcome)" }
    }

    private static let faults: [TransportError.Code] = [
        .nameResolution, .connect, .connectTimeout, .timeout, .connectionClosed, .tls, .protocolViolation,
    ]
    private static let own: [TransportError.Code] = [
        .outOfDescriptors, .overloaded, .cancelled, .invalidRequest, .other,
    ]

    static let rows: [Row] =
        faults.map { Row(outcome: .failure($0, isUnsent: false), get: true, put: true, post: false) }
        + faults.map { Row(outcome: .failure($0, isUnsent: true), get: true, put: true, post: true) }
        + own.flatMap { code in
            [true, false].map { Row(outcome: .failure(code, isUnsent: $0), get: false, put: false, post: false) }
        }
        + [502, 503, 504].map { Row(outcome: .response(status: $0), get: true, put: true, post: false) }
        + [200, 206, 301, 304, 404, 416, 429, 500, 501, 505].map {
            Row(outcome: .response(status: $0), get: false, put: false, post: false)
        }

    /// Mutants: 503 is passed on to the client; a POST that a server may have is sent to another.
    @Test(arguments: rows) func outcomeDecidesWhetherAnotherServerIsTried(_ row: Row) {
        for (request, goesOn) in [(Self.get, row.get), (Self.put, row.put), (Self.post, row.post)] {
            var failover = Failover([.available, .available], firstMirror: 2, request)
            let first = failover.take()
            let next = failover.next(after: row.outcome, isTimeOver: false)
            #expect(first?.server == 0 && next?.server == (goesOn ? 1 : nil), "\(request)")
            guard goesOn else { continue }
            let last = failover.next(after: row.outcome, isTimeOver: false)
            #expect(last == nil, "the last one's outcome is the client's")
        }
    }

    @Test func noServerIsTriedWhenTheTimeIsOver() {
        var failover = Failover([.available, .available], firstMirror: 2, Self.get)
        _ = failover.take()
        let next = failover.next(after: .failure(.connect, isUnsent: true), isTimeOver: true)
        #expect(next == nil)
    }

    /// Mutant: a mirror gets changes too.
    @Test func mirrorsGetNoChanges() {
        for request in [Self.put, Self.post] {
            var failover = Failover([.available, .available, .available], firstMirror: 2, request)
            let tried = order(&failover, after: .failure(.connect, isUnsent: true)).map(\.server)
            #expect(tried == [0, 1])
        }
    }

    @Test func serversAreTriedInOrderAndThoseSetAsideLast() {
        var failover = Failover([Self.aside(9), .available, Self.aside(5), .available], firstMirror: 1, Self.get)
        let tried = order(&failover, after: .failure(.connect, isUnsent: true))
        #expect(tried.map(\.server) == [1, 3, 2, 0])
        // The time is shared with servers that are worth it.
        #expect(tried.map(\.shares) == [3, 2, 2, 1])
    }

    /// Mutant: a POST has half of the time, and no other server gets it.
    @Test func aRequestThatIsNotRepeatedHasAllOfTheTime() {
        var failover = Failover([.available, .available], firstMirror: 2, Self.post)
        #expect(order(&failover, after: .failure(.connect, isUnsent: true)).map(\.shares) == [1, 1])
        failover = Failover([.available, .available], firstMirror: 2, Self.put)
        #expect(order(&failover, after: .failure(.connect, isUnsent: true)).map(\.shares) == [2, 1])
    }

    /// Mutant: a response is given up for a server that another request is finding out about.
    @Test func responseIsNotGivenUpForAServerThatIsClaimed() {
        var failover = Failover([.available, .available], firstMirror: 1, Self.get)
        #expect(failover.take()?.server == 0)
        let next = failover.next(after: .response(status: 503), isTimeOver: false) { _ in false }
        #expect(next == nil)
    }

    /// Mutant: a response is thrown away for a server that is likely to be dead.
    @Test func responseIsNotGivenUpForAServerThatIsSetAside() {
        var failover = Failover([Self.aside(9), .available], firstMirror: 1, Self.get)
        let alone = order(&failover, after: .response(status: 503)).map(\.server)
        #expect(alone == [1])
        failover = Failover([Self.aside(9), .available], firstMirror: 1, Self.get)
        let both = order(&failover, after: .failure(.timeout, isUnsent: false)).map(\.server)
        #expect(both == [1, 0])
    }

    /// The servers that are tried if all attempts end in the same way.
    private func order(_ failover: inout Failover, after outcome: Failover.Outcome) -> [Failover.Attempt] {
        var tried: [Failover.Attempt] = []
        var next = failover.take()
        while let attempt = next {
            tried.append(attempt)
            next = failover.next(after: outcome, isTimeOver: false)
        }
        return tried
    }

    @Test func serverThatAnotherRequestClaimedComesAfterTheOthers() {
        var failover = Failover([.available, .available], firstMirror: 1, Self.get)
        let first = failover.take { $0 != 0 }
        let next = failover.next(after: .failure(.connect, isUnsent: true), isTimeOver: false)
        #expect(first?.server == 1 && next?.server == 0)
        // If every server is claimed, one is asked anyway.
        failover = Failover([.available, .available], firstMirror: 1, Self.get)
        let claimed = failover.take { _ in false }
        #expect(claimed?.server == 0)
    }
}

@Suite("Standing of a server of an origin", .timeLimit(.minutes(20))) struct ServerStandingTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private static func at(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }

    /// Mutant: the pause stays that of the first failure.
    @Test func pauseDoublesUpToItsLimit() {
        var standing = ServerStanding()
        var now = Self.start
        var pauses: [Int64] = []
        for _ in 0..<40 {
            let isClaimed = standing.begin(at: now)
            #expect(isClaimed)
            _ = standing.fail(begun: now, at: now)
            guard case .aside(let until) = standing.availability(at: now) else {
                Issue.record("It is not set aside.")
                return
            }
            pauses.append((until - now).nanoseconds / 1_000_000_000)
            now = until
        }
        #expect(pauses.prefix(8) == [1, 2, 4, 8, 16, 32, 60, 60] && pauses.last == 60)
    }

    /// Thirty requests that were under way when the server died say it once.
    /// Mutant: each of them doubles the pause.
    @Test func failuresOfRequestsBegunBeforeCountOnce() {
        var standing = ServerStanding()
        let changes = (0..<30).map { _ in standing.fail(begun: Self.at(0), at: Self.at(1)) }
        #expect(changes == [true] + Array(repeating: false, count: 29))
        #expect(standing.availability(at: Self.at(1)) == .aside(until: Self.at(2)))
    }

    /// Mutant: all requests go there when the pause is over.
    @Test func oneRequestFindsOutWhetherItIsBack() {
        var standing = ServerStanding()
        _ = standing.fail(begun: Self.at(0), at: Self.at(0))
        let claims = [0, 1, 1].map { standing.begin(at: Self.at($0)) }
        #expect(claims == [false, true, false] && standing.isAside)
        let changes = [standing.succeed(), standing.succeed()]
        #expect(changes == [true, false] && !standing.isAside)
        let free = [1, 1].map { standing.begin(at: Self.at($0)) }
        #expect(free == [true, true])
    }

    /// Mutant: another request finds out after a pause, however long the first one takes.
    @Test func noOtherRequestFindsOutUntilTheFirstHasEnded() {
        var standing = ServerStanding()
        _ = standing.fail(begun: Self.at(0), at: Self.at(0))
        let claims = [1, 2, 9, 30].map { standing.begin(at: Self.at($0)) }
        #expect(claims == [true, false, false, false])
        // One that began before says nothing of it.
        standing.release(begun: Self.at(0), at: Self.at(30))
        #expect(standing.availability(at: Self.at(30)) == .aside(until: Self.at(61)))
        standing.release(begun: Self.at(1), at: Self.at(30))
        let second = standing.begin(at: Self.at(30))
        #expect(second)
        _ = standing.fail(begun: Self.at(30), at: Self.at(40))
        #expect(standing.availability(at: Self.at(40)) == .aside(until: Self.at(42)))
    }

    @Test func failedCheckSetsAsideUntilTheNextGoodOne() {
        var standing = ServerStanding()
        let changes = [true, false, false].map { standing.check(isGood: $0) }
        #expect(changes == [nil, true, nil])
        #expect(standing.availability(at: Self.at(9999)) == .aside(until: .distantFuture))
        // A request that got through is no check.
        let isBack = standing.succeed()
        #expect(!isBack && standing.isAside)
        let change = standing.check(isGood: true)
        #expect(change == false && !standing.isAside)
        // A server whose requests fail is not back because it does the check.
        _ = standing.fail(begun: Self.at(0), at: Self.at(0))
        let end = standing.check(isGood: true)
        #expect(end == nil && standing.availability(at: Self.at(0)) == .aside(until: Self.at(1)))
        _ = standing.check(isGood: false)
        let back = standing.check(isGood: true)
        #expect(back == false && standing.availability(at: Self.at(0)) == .available)
    }
}
