import FaultWorkload
import HTTPCache
import OfflineStore
import TestSupport
import Testing

/// A process that writes a store is killed, again and again. Each time the store opens, and every
/// acknowledged entry is there.
///
/// `ROUNDS=1000` sets the number of rounds (200 by default), and `SEED=n` the seed; `make crash`
/// sets both.
@Suite struct CrashRoundTests {
    /// Several series at the same time, each with its own stores.
    @Test(arguments: 0..<4)
    func killedWriterKeepsAcknowledgedEntries(_ series: Int) async throws {
        let rounds = (Scale.rounds(200) + 3) / 4
        var killed = 0
        var acknowledged = 0
        var remembered: StoreInRounds?
        for round in 0..<rounds {
            let seed = Scale.seed &* 1_000_000 &+ UInt64(series * 10_000 + round)
            var random = SeededRandom(seed: seed)
            if round % 20 == 0 {
                // Several concurrent lanes; one lane alone with operations on everything; one lane
                // with a budget that makes it evict.
                let kind = StoreInRounds.Kind.allCases[(round / 20 + series) % 3]
                remembered = StoreInRounds(folder: try TemporaryFolder(inMemory: true), kind: kind)
            }
            guard var store = remembered else { return }
            // Some are killed while the store is opened, most under load, some at the moment of an
            // acknowledgement.
            let isEarly = Int.random(in: 0..<10, using: &random) == 0
            let line = isEarly ? 0 : Int.random(in: 1..<100, using: &random)
            let delay =
                Bool.random(using: &random) ? 0 : Int.random(in: 0..<(isEarly ? 20_000 : 3000), using: &random)
            let worker = WorkerProcess(
                "load",
                store.path,
                "\(seed)",
                "60",
                "\(store.kind.lanes)",
                "\(store.kind.budget)"
            )
            let ending = try await worker.run { $0 == line ? delay : nil }
            if ending.signal == 9 { killed += 1 }
            acknowledged += ending.lines.count { $0.hasPrefix("ack") }
            let findings = await store.check(ending, seed: seed, count: 60)
            remembered = store
            guard findings.isEmpty else {
                Issue.record("series \(series), round \(round), seed \(seed): \(findings.joined(separator: "\n"))")
                return
            }
        }
        // Otherwise this would have tested nothing.
        #expect(killed > rounds / 4 && acknowledged > rounds * 5)
    }

    #if os(Linux)
        /// Kills the process at the file operations themselves: before each, and in the middle of
        /// each write.
        ///
        /// This needs the fault shim, so it runs only on Linux.
        @Test(arguments: ["kill", "torn"])
        func writerKilledAtAnyFileOperationKeepsAcknowledgedEntries(_ mode: String) async throws {
            let seed = Scale.seed
            var at = 1
            var isOver = false
            while !isOver {
                var store = StoreInRounds(folder: try TemporaryFolder(inMemory: true), kind: .alone)
                let worker = WorkerProcess(
                    "load",
                    store.path,
                    "\(seed)",
                    "16",
                    "1",
                    "\(store.kind.budget)",
                    mode,
                    "\(at)"
                )
                let ending = try await worker.run()
                isOver = ending.signal != 9
                #expect(isOver == (ending.lines.last == "end"))
                let findings = await store.check(ending, seed: seed, count: 16)
                #expect(findings.isEmpty, "seed \(seed), killed at file operation \(at)")
                at += Scale.isThorough ? 1 : 23
            }
            #expect(at > 300)
        }

        /// A migration that is killed before or within any of its file operations is repeated, and
        /// the store's content is untouched.
        @Test(arguments: [1, 2], ["kill", "torn"])
        func killedMigrationIsRepeated(_ version: Int, _ mode: String) async throws {
            let here = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
            var at = 1
            var isOver = false
            while !isOver {
                let folder = try TemporaryFolder(inMemory: true)
                try copyFolder("/\(here)/Fixtures/stores/schema-\(version)", to: folder.store)
                let worker = WorkerProcess("load", folder.store, "1", "0", "1", "\(256 << 20)", mode, "\(at)")
                let ending = try await worker.run()
                isOver = ending.signal != 9
                let store = try await CacheManager.openForFaults(folder.store)
                let statistics = try await store.statistics()
                #expect(statistics.setAside.isEmpty && statistics.responses == 3 && statistics.objects == 1)
                #expect(statistics.invalidationSequence == 1 && statistics.invalidated == 1)
                #expect(try await store.object([String].self, forKey: "names") == ["a", "b"])
                try await store.close()
                #expect(DatabaseAudit.findings(folder.store + "/0001.sqlite").isEmpty)
                at += Scale.isThorough ? 1 : 5
            }
            #expect(at > 20)
        }
    #endif
}

/// One store through several rounds, and its expected content.
struct StoreInRounds {
    enum Kind: CaseIterable {
        case lanes, alone, small

        var lanes: Int { self == .lanes ? 3 : 1 }
        var budget: Int64 { self == .small ? 12 << 20 : 256 << 20 }
    }

    let folder: TemporaryFolder
    let kind: Kind
    var model: StoreModel
    var path: String { folder.store }
    private var tolerance: StoreModel.Tolerance { .init(mayMiss: kind == .small) }

    init(folder: TemporaryFolder, kind: Kind) {
        self.folder = folder
        self.kind = kind
        model = StoreModel(lanes: kind.lanes)
    }

    /// Follows the worker's lines, opens the store in this process, and compares.
    ///
    /// - Returns: the findings.
    mutating func check(
        _ ending: WorkerProcess.Ending,
        seed: UInt64,
        count: Int,
        powerFailed: Bool = false
    ) async -> [String] {
        var findings = follow(ending, seed: seed, count: count)
        var tolerance = tolerance
        tolerance.mayForget = powerFailed
        do {
            let store = try await CacheManager.openForFaults(path, budget: kind.budget)
            findings += await model.audit(store, tolerance)
            let statistics = try await store.statistics()
            if !statistics.setAside.isEmpty {
                findings.append("set aside: \(statistics.setAside.map(\.name))")
            }
            // The store still works.
            let place = Place(lane: 0, kind: .response, index: 0)
            let operation = Operation.setResponse(place, Content(seed: seed, length: 5000), tags: [0])
            let certain = model.begin(operation)
            try await store.perform(operation)
            model.acknowledge(operation, certain)
            try await store.close()
            findings += DatabaseAudit.findings(path + "/" + statistics.databaseName)
        } catch {
            findings.append("\(error)")
        }
        return findings
    }

    private mutating func follow(_ ending: WorkerProcess.Ending, seed: UInt64, count: Int) -> [String] {
        var findings: [String] = []
        let lanes = (0..<kind.lanes).map {
            Workload.operations(seed: seed, lane: $0, count: count, isAlone: kind.lanes == 1)
        }
        var certain = [[Place: Set<Version?>]](repeating: [:], count: kind.lanes)
        for line in ending.lines {
            let words = line.split(separator: " ")
            guard words.count >= 3, let lane = Int(words[1]), let number = Int(words[2]) else {
                if !["open", "end"].contains(line) { findings.append(line) }
                continue
            }
            let operation = lanes[lane][number]
            switch words[0] {
            case "try": certain[lane] = model.begin(operation)
            case "ack": model.acknowledge(operation, certain[lane])
            // A small store may decline entries that are too large for it.
            case "fail" where kind == .small && ["tooLarge", "busy", "full"].contains(words.last): break
            default: findings.append("\(line): \(operation)")
            }
        }
        return findings
    }
}
