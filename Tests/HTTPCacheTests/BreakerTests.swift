import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// The breaker as a value.
@Suite struct BreakerTests {
    @Test func opensAtOnceWhereNoConnectionIsPossible() {
        var breaker = Breaker()
        let opened1 = breaker.failed(isConclusive: true, threshold: 3)
        #expect(opened1)
        #expect(breaker.isOpen)
    }

    @Test func opensAfterSoManyFailuresInARow() {
        var breaker = Breaker()
        let opened2 = breaker.failed(isConclusive: false, threshold: 3)
        #expect(!opened2)
        let opened3 = breaker.failed(isConclusive: false, threshold: 3)
        #expect(!opened3)
        #expect(!breaker.isOpen)
        let opened4 = breaker.failed(isConclusive: false, threshold: 3)
        #expect(opened4)
        #expect(breaker.isOpen)
    }

    @Test func anAnswerInBetweenStartsTheCountAnew() {
        var breaker = Breaker()
        _ = breaker.failed(isConclusive: false, threshold: 2)
        let wasOpen = breaker.answered()
        #expect(!wasOpen)
        let opened5 = breaker.failed(isConclusive: false, threshold: 2)
        #expect(!opened5)
    }

    @Test func letsOneRequestThroughBetweenTwoProbes() {
        var breaker = Breaker()
        _ = breaker.failed(isConclusive: true, threshold: 1)
        let first = breaker.admit()
        let second = breaker.admit()
        breaker.probeFailed()
        let third = breaker.admit()
        #expect(first)
        #expect(!second)
        #expect(third)
    }

    @Test func backsOffTwiceAsLongEachTimeUpToTheLimit() {
        var options = BreakerOptions()
        options.initialBackOff = .seconds(1)
        options.maximumBackOff = .seconds(10)
        var breaker = Breaker()
        _ = breaker.failed(isConclusive: true, threshold: 1)
        var delays: [Duration] = []
        for _ in 0..<6 {
            delays.append(breaker.backOff(options, jitter: 1))
            breaker.probeFailed()
        }
        #expect(delays == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(breaker.backOff(options, jitter: 0) == .seconds(5))
    }

    @Test func manyProbesDoNotOverflow() {
        var breaker = Breaker()
        _ = breaker.failed(isConclusive: true, threshold: 1)
        for _ in 0..<1000 { breaker.probeFailed() }
        #expect(breaker.backOff(BreakerOptions(), jitter: 1) == .seconds(30))
    }
}
