import HTTPCacheSemantics
import Testing

@testable import HTTPCache

/// Origins that send something other than HTTP, without sockets.
@Suite(.timeLimit(.minutes(20))) struct UnusableResponsesTests {
    private let cause = FailureCause(reason: "protocol-violation", message: "")
    private let start = Timestamp(seconds: 1000)

    private static func origin(_ number: Int) throws -> Origin { Origin(try TargetURI("https://o\(number).example/")) }

    @Test func isLoggedOncePerChange() throws {
        var unusable = UnusableResponses()
        let origin = try Self.origin(1)
        var logged = 0
        for second in 0..<600 {
            if unusable.note(cause, of: origin, at: start.adding(.seconds(Int64(second)))) { logged += 1 }
        }
        #expect(logged == 1 && unusable.causes == [origin: cause])
        unusable.succeed(origin)
        #expect(unusable.causes.isEmpty)
    }

    /// One target fails, and the others do not. Mutant: an origin is forgotten with its first
    /// valid response.
    @Test func alternatingResponsesAreLoggedOnceAMinute() throws {
        var unusable = UnusableResponses()
        let origin = try Self.origin(1)
        var logged = 0
        for second in 0..<600 {
            if unusable.note(cause, of: origin, at: start.adding(.seconds(Int64(second)))) { logged += 1 }
            unusable.succeed(origin)
        }
        #expect(logged == 10)
    }

    @Test func fewOriginsAreRemembered() throws {
        var unusable = UnusableResponses()
        for number in 0..<1000 {
            let isLogged = unusable.note(cause, of: try Self.origin(number), at: start)
            #expect(isLogged == (number < UnusableResponses.limit))
        }
        #expect(unusable.causes.count == UnusableResponses.limit)
        unusable.succeed(try Self.origin(0))
        let isLogged = unusable.note(cause, of: try Self.origin(1000), at: start)
        #expect(isLogged && unusable.causes.count == UnusableResponses.limit)
    }
}
