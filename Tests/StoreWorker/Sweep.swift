import FaultShim
import FaultWorkload
import HTTPCache
import OfflineStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Runs the tour on a new store for each file operation that can fail. The fault begins there,
/// lasts for some operations, and ends.
///
/// It writes `at N` before each, `done N` with the struck call after it, and `wrong N …` for each
/// finding. `end` means that the fault came too late to strike.
struct Sweep {
    let folder: String
    let seed: UInt64
    let mode: fault_mode
    let error: Int32
    /// The file operations struck in a row.
    let length: Int64
    let from: Int64
    let stride: Int64
    let limit: Int64
    /// Whether the store exists before the fault begins.
    let isPrepared: Bool

    init?(_ words: [String]) {
        let errors = ["ENOSPC": ENOSPC, "EIO": EIO, "EROFS": EROFS, "EMFILE": EMFILE]
        let modes = ["error": FAULT_ERROR, "short": FAULT_SHORT]
        guard words.count == 10, let seed = UInt64(words[2]), let mode = modes[words[3]], let error = errors[words[4]],
            let length = Int64(words[5]), let from = Int64(words[6]), let stride = Int64(words[7]),
            let limit = Int64(words[8])
        else { return nil }
        folder = words[1]
        self.seed = seed
        self.mode = mode
        self.error = error
        self.length = length
        self.from = from
        self.stride = stride
        self.limit = limit
        isPrepared = words[9] == "old"
    }

    func run() async {
        fault_watch(folder, 0)
        var number = from
        for _ in 0..<limit {
            Line.write("at \(number)")
            let path = "\(folder)/\(number)"
            var round = Round(path: path, seed: seed &+ UInt64(number), isPrepared: isPrepared, error: error)
            let plan = fault_plan(mode: mode, error: error, first: number, count: length, seed: 0)
            await round.run(plan)
            for finding in round.findings { Line.write("wrong \(number) at \(round.struckCall): \(finding)") }
            Line.write("done \(number) \(round.strikes) \(round.failures) \(round.struckCall)")
            if round.findings.isEmpty { remove(path) }
            if round.strikes == 0 {
                Line.write("end \(number)")
                return
            }
            number += stride
        }
        Line.write("more \(number)")
    }

    private func remove(_ path: String) {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { unlink(path + "/" + name) }
        }
        closedir(folder)
        rmdir(path)
    }
}

/// One store with one fault.
private struct Round {
    let path: String
    let seed: UInt64
    let isPrepared: Bool
    /// The error of the fault.
    let error: Int32

    var model = StoreModel(lanes: 1)
    var findings: [String] = []
    var strikes: Int64 = 0
    var struckCall = ""
    /// Operations that failed during the fault.
    var failures = 0

    init(path: String, seed: UInt64, isPrepared: Bool, error: Int32) {
        self.path = path
        self.seed = seed
        self.isPrepared = isPrepared
        self.error = error
    }

    mutating func run(_ plan: fault_plan) async {
        do {
            if isPrepared {
                let store = try await CacheManager.openForFaults(path)
                try await perform(Workload.operations(seed: seed, lane: 0, count: 12, isAlone: false), on: store)
                try await store.close()
            }
            fault_arm(plan)
            let store = try await open()
            for operation in Workload.tour(seed: seed) { await attempt(operation, on: store) }
            endFault()
            // From here on nothing may fail any more, in this process and in the next.
            try await perform(Workload.tour(seed: seed &+ 1_000_000), on: store)
            findings += await model.audit(store).map { "healed, " + $0 }
            let statistics = try await store.statistics()
            if !statistics.setAside.isEmpty { findings.append("a database was set aside") }
            try await store.close()
            let again = try await CacheManager.openForFaults(path)
            findings += await model.audit(again).map { "opened again, " + $0 }
            try await again.close()
            findings += DatabaseAudit.findings(path + "/" + statistics.databaseName)
        } catch {
            endFault()
            findings.append("\(error)")
        }
    }

    /// Opens the store; if the fault prevents that, opens it after the fault. On a full disk, a
    /// store is opened only for reading, until it is opened again.
    private mutating func open() async throws -> CacheManager {
        do {
            let store = try await CacheManager.openForFaults(path)
            guard store.isReadOnly else { return store }
            failures += 1
            if fault_strikes() == 0 { findings.append("opened only for reading before the fault") }
            if error != ENOSPC { findings.append("opened only for reading, but the disk is not full") }
            endFault()
            try await store.close()
            return try await CacheManager.openForFaults(path)
        } catch let error as StoreError {
            failures += 1
            if fault_strikes() == 0 { findings.append("opening failed before the fault: \(error)") }
            check(error, "open")
            endFault()
            return try await CacheManager.openForFaults(path)
        }
    }

    private mutating func endFault() {
        guard struckCall.isEmpty else { return }
        fault_disarm()
        strikes = fault_strikes()
        struckCall = String(cString: fault_last_call())
    }

    /// Performs an operation while the fault may strike: it may fail, but it must not read anything
    /// wrong.
    private mutating func attempt(_ operation: FaultWorkload.Operation, on store: CacheManager) async {
        let certain = model.begin(operation)
        do {
            let version = try await store.perform(operation)
            if case .read(let place) = operation, let version, !model.allows(version, at: place, .init()) {
                findings.append("read \(version) at \(place)")
            }
            model.acknowledge(operation, certain)
        } catch let error as StoreError {
            failures += 1
            check(error, "\(operation)")
        } catch {
            findings.append("\(error)")
        }
    }

    private mutating func check(_ error: StoreError, _ what: String) {
        let expected: [StoreError.Code] = [.io, .full, .unwritable, .busy]
        if !expected.contains(error.code) {
            findings.append("\(what) failed with \(error.code): \(error) \(error.cause.map { "\($0)" } ?? "")")
        }
    }

    private mutating func perform(_ operations: [FaultWorkload.Operation], on store: CacheManager) async throws {
        for operation in operations {
            let certain = model.begin(operation)
            do {
                try await store.perform(operation)
            } catch {
                findings.append("\(operation) failed without a fault: \(error)")
                continue
            }
            model.acknowledge(operation, certain)
        }
    }
}
