import Testing

@testable import StoreMemory

@Suite(.timeLimit(.minutes(20))) struct RecencyLogTests {
    /// In a store that evicts nothing, a period would last until many entries were used. The order
    /// of use would then be that of the first uses.
    @Test func periodEndsAfterSomeUses() {
        let log = RecencyLog(last: 7, isExact: false)
        let first = log.period
        for entryID in 1..<RecencyLog.periodLength { log.use(entryID) }
        #expect(log.period == first)
        log.use(1)
        #expect(log.period == first + 1)
    }
}
