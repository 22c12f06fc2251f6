import HTTPCacheSemantics
import Testing

@testable import HTTPCache

/// Why requests to origins failed, without sockets.
@Suite(.timeLimit(.minutes(20))) struct OriginFailuresTests {
    private let cause = FailureCause(reason: "protocol-violation", message: "")
    private let start = Timestamp(seconds: 1000)

    private static func origin(_ number: Int) throws -> Origin { Origin(try TargetURI("https://o\(number).example/")) }

    @Test func isLoggedOncePerChange() throws {
        var failures = OriginFailures()
        let origin = try Self.origin(1)
        var logged = 0
        for second in 0..<600 {
            if failures.note(cause, of: origin, at: start.adding(.seconds(Int64(second)))) { logged += 1 }
        }
        #expect(logged == 1 && failures.causes == [origin: cause])
        failures.succeed(origin)
        #expect(failures.causes.isEmpty)
        let last = OriginCondition.Failure(cause: cause, at: start.adding(.seconds(599)))
        #expect(failures.last == [origin: last], "the last failure outlasts a success")
        failures.forget(origin)
        #expect(failures.last.isEmpty)
    }

    /// One target fails, and the others do not. Mutant: an origin is forgotten with its first
    /// valid response.
    @Test func alternatingResponsesAreLoggedOnceAMinute() throws {
        var failures = OriginFailures()
        let origin = try Self.origin(1)
        var logged = 0
        for second in 0..<600 {
            if failures.note(cause, of: origin, at: start.adding(.seconds(Int64(second)))) { logged += 1 }
            failures.succeed(origin)
        }
        #expect(logged == 10)
    }

    @Test func fewOriginsAreRemembered() throws {
        var failures = OriginFailures()
        for number in 0..<1000 {
            let isLogged = failures.note(cause, of: try Self.origin(number), at: start)
            #expect(isLogged == (number < OriginFailures.limit))
        }
        #expect(failures.causes.count == OriginFailures.limit)
        failures.succeed(try Self.origin(0))
        let isLogged = failures.note(cause, of: try Self.origin(1000), at: start)
        #expect(isLogged && failures.causes.count == OriginFailures.limit)
    }
}
