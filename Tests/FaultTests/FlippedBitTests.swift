import FaultWorkload
import HTTPCache
import OfflineStore
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Damaged files: every read is right or a miss, and the store continues.
@Suite struct FlippedBitTests {
    /// A closed store with something of every kind, and one whose log was not copied yet.
    private struct Original {
        let folder: TemporaryFolder
        let model: StoreModel
        var closed: String { folder.path + "/closed" }
        var live: String { folder.path + "/live" }

        init() async throws {
            let folder = try TemporaryFolder(inMemory: true)
            self.folder = folder
            var model = StoreModel(lanes: 1)
            let closed = folder.path + "/closed"
            let store = try await CacheManager.openForFaults(closed)
            for seed in [UInt64(3), 4] {
                for operation in Workload.tour(seed: seed).dropLast(4) {
                    let certain = model.begin(operation)
                    try await store.perform(operation)
                    model.acknowledge(operation, certain)
                }
            }
            try await store.settle()
            try copyFolder(closed, to: folder.path + "/live")
            try await store.close()
            self.model = model
        }
    }

    enum File: Sendable { case database, log }

    /// Flips a seeded bit in every page; eight bits with `make crash`.
    @Test(arguments: [File.database, .log])
    func flippedBitIsAMissAndNeverAWrongByte(_ file: File) async throws {
        let original = try await Original()
        let source = file == .database ? original.closed : original.live
        let name = file == .database ? "0001.sqlite" : "0001.sqlite-wal"
        let bytes = try readFile(source + "/" + name)
        #expect(bytes.count > 100_000)
        var random = SeededRandom(seed: Scale.seed)
        let unit = file == .database ? 8192 : 8216
        var misses = 0
        for index in 0..<(bytes.count / unit * (Scale.isThorough ? 8 : 1)) {
            // Most depends on the bits of headers and of the beginnings of cells.
            let range = index % 2 == 0 ? unit : 200
            let offset = index % (bytes.count / unit) * unit + Int.random(in: 0..<range, using: &random)
            let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
            let copy = original.folder.path + "/copy"
            try copyFolder(source, to: copy)
            try writeFile(copy + "/" + name, [bytes[offset] ^ bit], at: offset)
            var model = original.model
            let findings = await Self.findings(copy, &model, &misses)
            #expect(findings.isEmpty, "seed \(Scale.seed), bit \(bit) of byte \(offset) of the \(file)")
            TemporaryFolder.remove(copy)
        }
        // Otherwise no bit was where it matters.
        #expect(misses > 0)
    }

    /// Column names are text in the first pages. A changed one makes every statement fail, and is
    /// damage like any other.
    @Test(arguments: ["body_length INTEGER", "checksum INTEGER", "log_floor INTEGER", "TABLE garbage"])
    func flippedBitInTheSchemaIsDamage(_ text: String) async throws {
        let original = try await Original()
        let name = "/0001.sqlite"
        let bytes = try readFile(original.closed + name)
        let words = Array(text.utf8)
        let place = bytes.indices.first { bytes[$0...].starts(with: words) }
        let offset = try #require(place) + words.count - 9
        let copy = original.folder.path + "/copy"
        try copyFolder(original.closed, to: copy)
        try writeFile(copy + name, [bytes[offset] ^ 1], at: offset)
        var model = original.model
        var misses = 0
        let findings = await Self.findings(copy, &model, &misses)
        #expect(findings.isEmpty && misses > 0)
    }

    @Test func storeContinuesAfterAFileIsTruncated() async throws {
        let original = try await Original()
        var random = SeededRandom(seed: Scale.seed)
        var misses = 0
        for round in 0..<(Scale.isThorough ? 200 : 24) {
            let isLog = round % 2 == 0
            let source = isLog ? original.live : original.closed
            let name = isLog ? "0001.sqlite-wal" : "0001.sqlite"
            let copy = original.folder.path + "/copy"
            try copyFolder(source, to: copy)
            let length = Int.random(in: 0..<(try readFile(source + "/" + name).count), using: &random)
            #expect(truncate(copy + "/" + name, off_t(length)) == 0)
            var model = original.model
            let findings = await Self.findings(copy, &model, &misses)
            #expect(findings.isEmpty, "seed \(Scale.seed), \(name) truncated to \(length)")
            TemporaryFolder.remove(copy)
        }
        #expect(misses > 0)
    }

    @Test(arguments: ["sequence", "CURRENT", "lock", "0001.sqlite-wal", "0001.sqlite-shm"])
    func storeContinuesWithoutAnyOfItsFiles(_ name: String) async throws {
        let original = try await Original()
        for source in [original.live, original.closed] {
            let copy = original.folder.path + "/copy"
            try copyFolder(source, to: copy)
            unlink(copy + "/" + name)
            var model = original.model
            var misses = 0
            let findings = await Self.findings(copy, &model, &misses)
            #expect(findings.isEmpty, "\(name) is missing")
            TemporaryFolder.remove(copy)
        }
    }

    /// Opens a damaged store, reads everything, writes everything again, reads again, and reopens
    /// it.
    private static func findings(_ path: String, _ model: inout StoreModel, _ misses: inout Int) async -> [String] {
        var findings: [String] = []
        do {
            let store = try await CacheManager.openForFaults(path)
            // The sequence never decreases, whatever the damage.
            let sequence = store.responses.invalidationSequence.number
            for place in model.places {
                do {
                    guard let version = try await store.version(at: place) else {
                        if model.observe(nil, at: place, .init()) != nil { misses += 1 }
                        continue
                    }
                    // An older version may be back if the log lost its tail; it is distrusted then.
                    if version.isMarked { continue }
                    if !model.allows(version, at: place, .init()) { findings.append("\(place) holds \(version)") }
                } catch let error as StoreError where error.code == .damaged || error.code == .gone {
                    misses += 1
                }
            }
            var renewed = StoreModel(lanes: 1)
            for operation in [.removeAll] + Workload.tour(seed: 9).prefix(8) {
                let certain = renewed.begin(operation)
                do {
                    try await store.perform(operation)
                } catch let error as StoreError where error.code == .damaged {
                    // The damage is only found now: a new database is in use from here on.
                    try await store.perform(operation)
                }
                renewed.acknowledge(operation, certain)
            }
            if store.responses.invalidationSequence.number < sequence { findings.append("the sequence went back") }
            let isReplaced = try await !store.statistics().setAside.isEmpty
            findings += await renewed.audit(store, .init(mayMiss: isReplaced))
            try await store.close()
            let again = try await CacheManager.openForFaults(path)
            findings += await renewed.audit(again, .init(mayMiss: isReplaced)).map { "opened again, " + $0 }
            try await again.close()
        } catch {
            findings.append("\(error)")
        }
        return findings
    }
}
