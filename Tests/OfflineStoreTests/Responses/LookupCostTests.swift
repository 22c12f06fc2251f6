import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import OfflineStore
import TestSupport
import Testing

/// No lookup holds the thread that reads from disk for longer than ``ProcessorTime/limit``,
/// whatever is stored under its key.
@Suite(.timeLimit(.minutes(20)), .serialized) struct LookupCostTests {
    /// As many variants as a key may have, each as large as it may be.
    @Test(arguments: [("selecting fields", 59_000, 0, 100), ("fields", 10, 59_000, 100), ("content", 10, 0, 1 << 20)])
    func lookupOfManyLargeVariantsIsShort(_ what: String, _ selecting: Int, _ fields: Int, _ content: Int) async throws
    {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let keys = try (0..<4).map { try cacheKey("/\($0)") }
        let store = try await openStore(folder.store, clock: clock, budget: 512 << 20)
        for key in keys {
            for number in 0..<32 {
                let value = String(repeating: "a, ", count: selecting / 3) + "\(number)"
                var head: HTTPFields = [.contentType: "text/plain"]
                for part in 0..<100 where fields > 0 {
                    head.append(HTTPField(name: .setCookie, value: String(repeating: "\(part)", count: fields / 200)))
                }
                let draft = draft(key, at: clock.now(), fields: head, selecting: [.acceptLanguage: value])
                try await store.store(draft, [pattern(content)])
            }
        }
        try await store.close()
        let slow = try await ProcessorTime.stepsOverLimit { steps in
            // A store that was just opened has nothing in memory.
            let store = try await openStore(folder.store, clock: clock, budget: 512 << 20)
            let lookup = try #require(store.responses.blockingLookup)
            for key in keys {
                var found = 0
                steps.add(what, try ProcessorTime.of { found = try lookup(key).count })
                #expect(found == 32)
            }
            try await store.close()
        }
        #expect(slow.isEmpty, "\(slow)")
    }
}
