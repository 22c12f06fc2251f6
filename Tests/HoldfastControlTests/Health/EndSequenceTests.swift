import HTTPCache
import HTTPCacheOperations
import Testing

@testable import HoldfastControl

@Suite(.timeLimit(.minutes(20))) struct EndSequenceTests {
    private typealias Signal = EndSequence.Signal
    private typealias Action = EndSequence.Action

    private func actions(_ signals: [Signal], delay: Duration = .seconds(5)) -> [Action] {
        var sequence = EndSequence()
        return signals.map { sequence.receive($0, delay: delay) }
    }

    @Test func secondSignalEndsTheDelayAndTheNextOneTheProcess() {
        for second in [Signal.terminate, .interrupt] {
            #expect(actions([.terminate, second, second]) == [.delay(.seconds(5)), .endDelay, .exit])
        }
    }

    @Test func nothingIsDelayedForAPersonAndWithoutADelay() {
        #expect(actions([.interrupt, .terminate]) == [.drain, .exit])
        #expect(actions([.terminate, .terminate], delay: .zero) == [.drain, .exit])
    }

    @Test func handoverWaitsForNoDelayAndIsNoSecondSignal() {
        #expect(actions([.handover, .terminate]) == [.drain, .exit])
        #expect(actions([.terminate, .handover, .handover]) == [.delay(.seconds(5)), .endDelay, .ignore])
        #expect(actions([.interrupt, .handover, .terminate]) == [.drain, .ignore, .exit])
        #expect(actions([.handover, .reload]) == [.drain, .ignore])
    }

    @Test func gatewayThatEndsReloadsNothing() {
        let signals: [Signal] = [.reload, .terminate, .reload, .terminate, .reload, .interrupt]
        #expect(actions(signals) == [.reload, .delay(.seconds(5)), .ignore, .endDelay, .ignore, .exit])
    }

    @Test func delayIsThatOfTheFirstSignalAndEndsOnce() {
        var sequence = EndSequence()
        var drains = [sequence.finishDelay()]
        #expect(sequence.receive(.terminate, delay: .seconds(1)) == .delay(.seconds(1)))
        drains += [sequence.finishDelay(), sequence.finishDelay()]
        #expect(drains == [false, true, false])
        #expect(sequence.receive(.terminate, delay: .seconds(60)) == .exit)
    }

    @Test func delayThatASignalEndedDoesNotDrainAgain() {
        var sequence = EndSequence()
        _ = sequence.receive(.terminate, delay: .seconds(1))
        #expect(sequence.receive(.interrupt, delay: .seconds(1)) == .endDelay)
        let drains = sequence.finishDelay()
        #expect(!drains)
    }

    @Test func gatewayThatEndsIsNotReadyWhateverElseHolds() {
        let stores: [StoreCondition] = [
            .usable, .readOnly, .readOnlyOnFullDisk, .notWritable, .full, .evicting, .fullOfPins, .replaced,
        ]
        for store in stores {
            let report = HealthReport.readiness(.ending, store, ["https://a"], ModeState(configured: .offline))
            #expect(report.status == .ending && report.httpStatus == 503)
        }
        let damaged = HealthReport.readiness(.ending, .unreadable("damaged"), [], ModeState(configured: .automatic))
        #expect(damaged.status == .failing && damaged.httpStatus == 503)
    }
}
