import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct RetryDecisionTests {
    private static let now = Timestamp(seconds: 784_111_777)  // Sun, 06 Nov 1994 08:49:37 GMT
    private static let policy = RetryPlan(limit: 3, delay: .seconds(1), maximumDelay: .seconds(10))

    private func decision(_ status: Int, retryAfter: String? = nil, retries: Int = 0) -> RetryDecision {
        var fields = HTTPFields()
        fields[.retryAfter] = retryAfter
        let head = HTTPResponse(status: .init(code: status), headerFields: fields)
        return Self.policy.decision(after: head, retries: retries, jitter: 1, now: Self.now)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504]) func temporaryStatusIsSentAgain(_ status: Int) {
        #expect(decision(status) == .retry(after: .seconds(1)))
    }

    @Test(arguments: [200, 304, 400, 401, 404, 410, 501, 505]) func lastingStatusIsFinal(_ status: Int) {
        #expect(decision(status) == .keep)
    }

    @Test func retriesStopAtTheLimit() {
        #expect(decision(503, retries: 2) != .keep)
        #expect(decision(503, retries: 3) == .keep)
        #expect(
            RetryPlan.never.decision(
                after: HTTPResponse(status: .serviceUnavailable),
                retries: 0,
                jitter: 0,
                now: Self.now
            ) == .keep
        )
    }

    @Test func waitDoublesUpToTheMaximum() {
        let waits = (0..<6).map { Self.policy.backOff($0, jitter: 1) }
        #expect(waits == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(Self.policy.backOff(100_000, jitter: 1) == .seconds(10))
        var impatient = Self.policy
        impatient.maximumDelay = .milliseconds(500)
        #expect(impatient.backOff(0, jitter: 1) == .milliseconds(500))
    }

    @Test func jitterTakesUpToHalf() {
        #expect(Self.policy.backOff(1, jitter: 0) == .seconds(1))
        #expect(Self.policy.backOff(1, jitter: 0.5) == .milliseconds(1500))
        #expect(Self.policy.backOff(1, jitter: 1) == .seconds(2))
        #expect(Self.policy.backOff(1, jitter: 7) == .seconds(2))
    }

    @Test(
        arguments: [
            ("0", .retry(after: .seconds(1))), ("7", .retry(after: .seconds(7))), ("10", .retry(after: .seconds(10))),
            ("11", .keep), ("99999999999999999999999", .keep),
            ("Sun, 06 Nov 1994 08:49:42 GMT", .retry(after: .seconds(5))),
            ("Sunday, 06-Nov-94 08:49:42 GMT", .retry(after: .seconds(5))),
            ("Sun, 06 Nov 1994 08:49:00 GMT", .retry(after: .seconds(1))), ("Sun, 06 Nov 1994 08:50:37 GMT", .keep),
            // An invalid value of the field is ignored.
            ("-5", .retry(after: .seconds(1))), ("1.5", .retry(after: .seconds(1))),
            ("soon", .retry(after: .seconds(1))),
            ("", .retry(after: .seconds(1))),
        ] as [(String, RetryDecision)]
    )
    func retryAfterIsObeyed(_ field: String, _ expected: RetryDecision) {
        #expect(decision(503, retryAfter: field) == expected)
    }

    @Test(
        arguments: [
            (.connect, true), (.connectTimeout, true), (.nameResolution, true), (.timeout, true),
            (.connectionClosed, true),
            (.tls, false), (.protocolViolation, false), (.cancelled, false), (.invalidRequest, false), (.other, false),
        ] as [(TransportError.Code, Bool)]
    )
    func onlyTemporaryFailuresAreRetried(_ code: TransportError.Code, _ isWorthIt: Bool) {
        let error = TransportError(code: code, message: "")
        #expect((Self.policy.decision(after: error, retries: 0, jitter: 1) != .keep) == isWorthIt)
        #expect(Self.policy.decision(after: error, retries: 3, jitter: 1) == .keep)
    }

    @Test func foreignErrorIsFinal() {
        #expect(Self.policy.decision(after: CancellationError(), retries: 0, jitter: 1) == .keep)
    }
}
