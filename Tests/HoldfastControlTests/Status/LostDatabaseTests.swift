import HTTPCache
import HTTPCacheOperations
import Testing

@testable import HoldfastControl

/// A store whose database was damaged or deleted is empty, and works: only the status, the metrics
/// and the log say so.
@Suite(.timeLimit(.minutes(20))) struct LostDatabaseTests {
    /// Mutant: `status-hides-a-database-that-was-set-aside`.
    @Test(
        arguments: [
            (0, [], ""), (1, [], " The store's database was deleted; a new, empty one is in use."),
            (
                1, ["0001.sqlite"],
                " The damaged database '0001.sqlite' was set aside: 'cache-dump recover' copies its intact responses."
            ),
            // It was set aside by an earlier process, and is still there.
            (
                0, ["0001.sqlite", "0002.sqlite"],
                " The damaged database '0001.sqlite' was set aside: 'cache-dump recover' copies its intact responses."
            ),
        ] as [(Int, [String], String)]
    )
    func statusSaysWhatWasLost(_ lost: Int, _ setAside: [String], _ expected: String) {
        var statistics = StoreStatistics()
        statistics.lostDatabases = lost
        statistics.setAside = setAside.map { StoreStatistics.SetAside(name: $0, bytes: 1) }
        let store = StatusReport.Store(statistics)
        #expect(StatusReport.sentence(store) == expected)
        #expect(store.lostDatabases == (lost == 0 ? nil : lost))
        #expect(store.setAside == (setAside.isEmpty ? nil : setAside))
    }
}
