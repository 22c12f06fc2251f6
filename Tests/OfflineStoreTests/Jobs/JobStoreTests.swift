import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import TestSupport
import Testing

@testable import OfflineStore

/// A recording replaces a job at one moment, wherever it ends.
@Suite(.timeLimit(.minutes(20))) struct JobStoreTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func name(_ text: String = "deps") throws -> JobName { try #require(JobName(text)) }

    private func partition(_ digit: Character) throws -> JobPartition {
        try #require(JobPartition(String(repeating: digit, count: 32)))
    }

    private func header(_ name: JobName, _ partition: JobPartition) -> JobFile.Header {
        JobFile.Header(name: name, made: clock.now(), command: "make", partition: partition)
    }

    private func key(_ partition: JobPartition) throws -> StoreKey {
        StoreKey(partition: .job(partition.description), target: try TargetURI("https://a.example/x"))
    }

    private func put(_ partition: JobPartition, _ store: CacheManager) async throws {
        try await store.store(draft(try key(partition), at: clock.now()), "x")
    }

    private func isThere(_ partition: JobPartition, _ store: CacheManager) async throws -> Bool {
        try await !store.responses.lookup(key(partition)).isEmpty
    }

    @Test func keptRecordingReplacesJobAndItsResponses() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (old, new) = (try partition("a"), try partition("b"))
        for partition in [old, new] {
            try await store.beginRecording(name(), in: partition, at: clock.now())
            try await put(partition, store)
            #expect(try await isThere(old, store))
            try await store.keep(header(name(), partition), [], at: clock.now())
            #expect(try store.jobs.header(of: name())?.partition == partition)
            #expect(try await isThere(partition, store))
        }
        #expect(try await !isThere(old, store))
        #expect(try store.jobs.names == [name()])
        #expect(try store.jobs.marked.isEmpty)
        try await store.close()
    }

    /// Mutant: `requests-without-a-response-count-as-lost`.
    @Test func recordedResponsesInScopesAreCountedOnce() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let urls = ["https://a.example/x", "https://a.example/y?b", "https://b.example/x"]
        var entries = try urls.map { JobFile.Entry(JobRequest(method: .get, target: try TargetURI($0))) }
        let refused = JobRequest(method: .get, target: try TargetURI("https://a.example/z"))
        entries.append(JobFile.Entry(refused, why: "endless"))
        try await store.beginRecording(name(), in: partition("a"), at: clock.now())
        try await store.keep(header(name(), partition("a")), entries, at: clock.now())
        let first = InvalidationScope.target(try TargetURI(urls[0]))
        let prefix = InvalidationScope.prefix(try TargetPrefix("https://a.example/"))
        for (scopes, count) in [([.all], 3), ([first], 1), ([prefix], 2), ([first, prefix], 2), ([.tag("t")], 0)] {
            let recorded = try await store.recorded(in: scopes, examining: 10)
            #expect(recorded == (count == 0 ? [:] : ["deps": count]), "\(scopes)")
        }
        for (limit, count) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)] {
            let recorded = try await store.recorded(in: [.all], examining: limit)
            #expect(recorded == (count == 0 ? [:] : ["deps": count]), "\(limit)")
        }
        try await store.close()
    }

    @Test func discardedRecordingLeavesJob() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (old, new) = (try partition("a"), try partition("b"))
        try await store.beginRecording(name(), in: old, at: clock.now())
        try await put(old, store)
        try await store.keep(header(name(), old), [], at: clock.now())
        try await store.beginRecording(name(), in: new, at: clock.now())
        try await put(new, store)
        try await store.discardRecording(name(), in: new, at: clock.now())
        #expect(try store.jobs.header(of: name())?.partition == old)
        let (isOld, isNew) = (try await isThere(old, store), try await isThere(new, store))
        #expect(isOld && !isNew)
        try await store.close()
    }

    /// Otherwise, the responses of a job that found no room take more of it.
    ///
    /// Mutant: `a-job-that-cannot-be-written-leaves-responses`.
    @Test func recordingWhoseJobCannotBeWrittenLeavesNothing() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (old, new) = (try partition("a"), try partition("b"))
        try await store.beginRecording(name(), in: old, at: clock.now())
        try await put(old, store)
        try await store.keep(header(name(), old), [], at: clock.now())
        try await store.beginRecording(name(), in: new, at: clock.now())
        try await put(new, store)
        let place = URL(fileURLWithPath: folder.store).appending(path: "jobs/deps.job.new")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        let (replacing, now) = (try header(name(), new), clock.now())
        await #expect(throws: StoreError.self) { try await store.keep(replacing, [], at: now) }
        #expect(try store.jobs.header(of: name())?.partition == old)
        let (isOld, isNew) = (try await isThere(old, store), try await isThere(new, store))
        #expect(isOld && !isNew)
        #expect(try store.jobs.marked.isEmpty)
        try await store.close()
    }

    /// The places at which a process can be killed. The next process removes what is left.
    ///
    /// Mutant: the marks of killed recordings stay.
    @Test(arguments: ["marked", "stored", "renamed"]) func killedRecordingIsCleanedUp(_ place: String) async throws {
        let (old, new, next) = (try partition("a"), try partition("b"), try partition("c"))
        let store = try await openStore(folder.store, clock: clock)
        try await store.beginRecording(name(), in: old, at: clock.now())
        try await put(old, store)
        try await store.keep(header(name(), old), [], at: clock.now())
        try await store.beginRecording(name(), in: new, at: clock.now())
        if place != "marked" { try await put(new, store) }
        if place == "renamed" { try store.jobs.replace(header(name(), new), []) }
        try await store.close()
        let again = try await openStore(folder.store, clock: clock)
        let kept = place == "renamed" ? new : old
        #expect(try again.jobs.header(of: name())?.partition == kept)
        let killed = try await again.endKilledRecordings(at: clock.now())
        #expect(try killed == [KilledRecording(name(), isKept: place == "renamed")])
        try await again.beginRecording(name("other"), in: next, at: clock.now())
        #expect(try again.jobs.marked == [name("other")])
        let (isOld, isNew) = (try await isThere(old, again), try await isThere(new, again))
        #expect(isOld == (place != "renamed") && isNew == (place == "renamed"))
        try await again.close()
    }

    @Test func removedJobTakesItsResponsesAlong() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (one, two) = (try partition("a"), try partition("b"))
        for (job, partition) in [(try name("one"), one), (try name("two"), two)] {
            try await store.beginRecording(job, in: partition, at: clock.now())
            try await put(partition, store)
            try await store.keep(header(job, partition), [], at: clock.now())
        }
        #expect(try await store.removeJob(name("one"), at: clock.now()))
        #expect(try await !store.removeJob(name("one"), at: clock.now()))
        #expect(try store.jobs.names == [name("two")])
        let (isFirst, isSecond) = (try await isThere(one, store), try await isThere(two, store))
        #expect(!isFirst && isSecond)
        try await store.close()
    }

    /// Mutant: a damaged job cannot be removed.
    @Test(arguments: [("{", true), ("", true), ("HEADER{\n", false), ("HEADER{", false)])
    func damagedJobIsRemoved(_ text: String, _ keepsResponses: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let partition = try partition("a")
        try await store.beginRecording(name(), in: partition, at: clock.now())
        try await put(partition, store)
        let header = header(try name(), partition)
        try await store.keep(header, [], at: clock.now())
        let damaged = text.replacing("HEADER", with: String(decoding: header.line, as: UTF8.self))
        let file = folder.store + "/jobs/deps.job"
        try Data(damaged.utf8).write(to: URL(fileURLWithPath: file))
        #expect(throws: JobFile.Refusal.self) { try store.jobs.header(of: name()) }
        #expect(try await store.removeJob(name(), at: clock.now()))
        #expect(try store.jobs.names.isEmpty)
        #expect(try store.jobs.marked.isEmpty)
        #expect(try await isThere(partition, store) == keepsResponses)
        try await store.close()
    }

    @Test func entriesAreReadInPieces() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let entries = try (0..<3000).map { number in
            JobFile.Entry(JobRequest(method: .get, target: try TargetURI("https://a.example/\(number)")))
        }
        let partition = try partition("a")
        try await store.beginRecording(name(), in: partition, at: clock.now())
        try await store.keep(header(name(), partition), entries, at: clock.now())
        var read: [JobFile.Entry] = []
        try store.jobs.read(name()) { if case .entry(let entry) = $0 { read.append(entry) } }
        #expect(read == entries)
        try await store.close()
    }

    @Test func storeWithoutJobsHasNone() async throws {
        let store = try await openStore(folder.store, clock: clock)
        #expect(try store.jobs.names.isEmpty)
        #expect(try store.jobs.header(of: name()) == nil)
        try await store.close()
    }
}
