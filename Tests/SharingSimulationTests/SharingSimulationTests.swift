import Foundation
import OfflineStore
import TestSupport
import Testing

/// Histories of a fleet that shares its purges, which a seed determines, judged by an oracle that
/// knows every purge: see ``SharingWorld``.
///
/// `HOLDFAST_SEED=<seed>` replays one; `HOLDFAST_SEEDS=<count>` runs more (`make simulate
/// SEEDS=<count>`).
@Suite struct SharingSimulationTests {
    private static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["HOLDFAST_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        let first = environment["HOLDFAST_FIRST_SEED"].flatMap { UInt64($0) } ?? 1
        let count = environment["HOLDFAST_SEEDS"].flatMap { UInt64($0) } ?? 200
        return Array(first..<(first + max(1, count)))
    }

    @Test func noPurgeIsLostWhateverTheEngineDoes() async throws {
        var total = SharingWorld.Report()
        var failed = 0
        for seed in Self.seeds {
            let report = try await SharingWorld.run(seed: seed)
            total.answers += report.answers
            total.purges += report.purges
            total.failovers += report.failovers
            total.lost += report.lost
            total.flushes += report.flushes
            total.gaps += report.gaps
            total.published += report.published
            total.powerCuts += report.powerCuts
            total.takenBack += report.takenBack
            total.passed += report.passed
            total.everywhere += report.everywhere
            total.caughtUp += report.caughtUp
            total.clones += report.clones
            total.unopened += report.unopened
            total.rotations += report.rotations
            guard let first = report.violations.first else { continue }
            failed += 1
            Issue.record("seed \(seed): \(report.violations.count) violations; \(first)")
            if failed >= 10 { break }
        }
        // The histories have everything in them that they are to have.
        #expect(total.answers > 0 && total.purges > 0 && total.failovers > 0 && total.lost > 0)
        #expect(total.powerCuts > 0 && total.takenBack > 0 && total.passed > 0)
        #expect(total.everywhere > 0 && total.caughtUp > 0 && total.clones > 0)
        #expect(total.unopened > 0 && total.rotations > 0)
        #expect(total.flushes > 0 && total.gaps > 0 && total.published > total.purges)
        if ProcessInfo.processInfo.environment["HOLDFAST_SEEDS"] != nil {
            print("\(Self.seeds.count) histories: \(total)")
        }
    }

    @Test(arguments: [UInt64(1), 2, 3]) func storesOnDiskKeepItToo(_ seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let stores = Stores()
        let report = try await SharingWorld.run(seed: seed) { number in
            try await stores.open("\(folder.path)/\(number)")
        }
        #expect(report.violations == [])
        await stores.close()
    }
}

private actor Stores {
    private var open: [CacheManager] = []

    func open(_ path: String) async throws -> InvalidationLogContract.Pair {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let store = try await CacheManager.open(at: path, configuration: .init(budget: 64 << 20))
        open.append(store)
        return .init(store: store.responses, log: store.invalidationLog)
    }

    func close() async { for store in open { try? await store.close() } }
}
