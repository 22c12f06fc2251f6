import FaultWorkload
import HTTPCache
import OfflineStore
import TestSupport
import Testing

/// A backup that is killed at any moment leaves a whole backup or none, and the next one succeeds.
///
/// `BACKUPS=50` sets the number of random rounds (5 by default), and `SEED=n` the seed; `make
/// backup` sets both.
@Suite(.timeLimit(.minutes(20))) struct BackupCrashTests {
    private enum Victim: CaseIterable {
        case backup, writer, both, none
    }

    /// One process writes a store, and another one backs it up. One, both or none of them are
    /// killed.
    @Test func killedBackupOrWriterLeavesAWholeBackupOrNone() async throws {
        var (killed, complete) = (0, 0)
        for round in 0..<Scale.backups {
            let seed = Scale.seed &* 1_000_000 &+ UInt64(round)
            var random = SeededRandom(seed: seed)
            let victim = Victim.allCases[round % 4]
            // The first is killed as soon as it has begun.
            let delay = round == 0 ? 0 : Int.random(in: 0..<60_000, using: &random)
            let start = Int.random(in: 2..<150, using: &random)
            let last = start + Int.random(in: 0..<100, using: &random)
            var live = LiveStore(folder: try TemporaryFolder(inMemory: true), seed: seed)
            let (writing, backup) = try await live.run(
                backupAfter: start,
                killingBackupAfter: [.backup, .both].contains(victim) ? delay : nil,
                killingWriterAt: [.writer, .both].contains(victim) ? last : nil
            )
            if backup.signal == 9 { killed += 1 }
            if backup.lines.last?.hasPrefix("backup") == true { complete += 1 }
            let failures = backup.lines.filter { $0.hasPrefix("failed") }
            let findings = try await live.check(writing, begunAt: start)
            #expect(failures + findings == [], "seed \(seed), round \(round), \(victim)")
        }
        // Otherwise this would have tested nothing.
        #expect(killed > 0 && (complete > 0 || Scale.backups < 2))
    }

    #if os(Linux)
        /// Killed before each file operation of the backup, in the middle of each write, or by a
        /// power failure. This needs the fault shim.
        @Test(arguments: ["kill", "torn", "cut"])
        func backupKilledAtAnyFileOperationIsWholeOrNotThere(_ mode: String) async throws {
            let folder = try TemporaryFolder(inMemory: true)
            let store = try await CacheManager.openForFaults(folder.store)
            for operation in Workload.tour(seed: 7) { try await store.perform(operation) }
            try await store.close()
            let expected = try await versions(folder.store)
            var (at, isOver, missing) = (1, false, 0)
            while !isOver {
                let parent = try TemporaryFolder(inMemory: true)
                let backup = parent.path + "/backup"
                let ending = try await WorkerProcess("backup", folder.store, backup, mode, "\(at)").run()
                isOver = ending.signal != 9 && ending.status != 77
                #expect(isOver == (ending.lines.last?.hasPrefix("backup") == true), "\(ending.lines)")
                if !TemporaryFolder.names(parent.path).contains("backup") {
                    missing += 1
                    _ = try await CacheManager.backUp(folder.store, to: backup)
                    #expect(TemporaryFolder.names(parent.path) == ["backup"], "\(mode) at \(at)")
                }
                #expect(try await versions(backup) == expected, "\(mode) at \(at)")
                #expect(try await CacheManager.verify(at: backup, isFull: true).findings == [], "\(mode) at \(at)")
                at += Scale.isThorough ? 1 : 7
            }
            #expect(at > 20 && missing > 2)
        }

        private func versions(_ path: String) async throws -> [Place: Version] {
            let store = try await CacheManager.openReadOnly(at: path, clock: FixedClock())
            var versions: [Place: Version] = [:]
            for place in Place.all(lane: 0) { versions[place] = try await store.version(at: place) }
            try await store.close()
            return versions
        }
    #endif
}

/// A store that one process writes while another one backs it up.
private struct LiveStore {
    private static let count = 60

    let folder: TemporaryFolder
    let seed: UInt64
    private var rounds: StoreInRounds
    private var backup: String { folder.path + "/backup" }

    init(folder: TemporaryFolder, seed: UInt64) {
        self.folder = folder
        self.seed = seed
        rounds = StoreInRounds(folder: folder, kind: .lanes)
    }

    /// - Parameters:
    ///   - start: the line of the writer after which the backup begins.
    ///   - delay: the microseconds after which the backup is killed, if it is.
    ///   - last: the line of the writer at which it is killed, if it is.
    func run(
        backupAfter start: Int,
        killingBackupAfter delay: Int?,
        killingWriterAt last: Int?
    ) async throws -> (writing: WorkerProcess.Ending, backup: WorkerProcess.Ending) {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        async let writing = write(killedAt: last) { line in if line >= start { begin.finish() } }
        for await _ in begun {}
        let ending = try await WorkerProcess("backup", folder.store, backup).run { $0 == 1 ? delay : nil }
        return (try await writing, ending)
    }

    /// - Parameter note: is called with the number of lines so far, and with the largest number at
    ///   the end.
    private func write(
        killedAt last: Int?,
        _ note: @escaping @Sendable (Int) -> Void
    ) async throws -> WorkerProcess.Ending {
        defer { note(.max) }
        let kind = rounds.kind
        let worker = WorkerProcess("load", folder.store, "\(seed)", "\(Self.count)", "\(kind.lanes)", "\(kind.budget)")
        return try await worker.run { line in
            note(line)
            return line == last ? 0 : nil
        }
    }

    /// Compares the backup with what had been acknowledged when it began, and with everything that
    /// was begun later. Makes it first if it is not there. Then compares the store.
    ///
    /// - Returns: the findings.
    mutating func check(_ writing: WorkerProcess.Ending, begunAt start: Int) async throws -> [String] {
        var model = StoreModel(lanes: rounds.kind.lanes)
        let lanes = (0..<rounds.kind.lanes).map {
            Workload.operations(seed: seed, lane: $0, count: Self.count, isAlone: false)
        }
        var certain = [[Place: Set<Version?>]](repeating: [:], count: lanes.count)
        for (index, line) in writing.lines.enumerated() {
            let words = line.split(separator: " ")
            guard words.count == 3, let lane = Int(words[1]), let number = Int(words[2]) else { continue }
            switch words[0] {
            case "try": certain[lane] = model.begin(lanes[lane][number])
            case "ack" where index < start: model.acknowledge(lanes[lane][number], certain[lane])
            default: break
            }
        }
        if !TemporaryFolder.names(folder.path).contains("backup") {
            _ = try await CacheManager.backUp(folder.store, to: backup)
        }
        var findings = TemporaryFolder.names(folder.path).filter { !["backup", "store"].contains($0) }
        findings += try await CacheManager.verify(at: backup, isFull: true).findings.map { "\($0.kind): \($0.detail)" }
        let restored = try await CacheManager.openForFaults(backup)
        findings += await model.audit(restored).map { "in the backup, \($0)" }
        try await restored.close()
        findings += DatabaseAudit.findings(backup + "/0001.sqlite")
        findings += await rounds.check(writing, seed: seed, count: Self.count)
        return findings
    }
}
