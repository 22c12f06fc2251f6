import CacheEviction
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

    @Test(arguments: [true, false]) func usesStayUntilTheyAreTaken(isExact: Bool) {
        let log = RecencyLog(last: 7, isExact: isExact)
        for _ in 0..<3 { log.use(1) }
        log.use(2)
        let uses = log.uses(of: 1)
        // If only the first use in a period is recorded, the entry may have been used just now.
        #expect(uses == .init(count: 3, number: isExact ? 10 : 11))
        #expect(log.uses(of: 1) == uses)
        #expect(log.take(1) == uses)
        #expect(log.uses(of: 1) == nil)
    }

    @Test func usesInTheOlderGenerationExpire() throws {
        let log = RecencyLog(last: 0, isExact: true)
        log.use(1)
        #expect(try #require(log.uses(of: 1)).isExpiring == false)
        for entryID in 2...Int64(RecencyLog.generationLimit) { log.use(entryID) }
        #expect(try #require(log.uses(of: 1)).isExpiring)
        log.use(1)
        let number = Int64(RecencyLog.generationLimit) + 1
        #expect(log.uses(of: 1) == .init(count: 2, number: number, isExpiring: true))
    }
}
