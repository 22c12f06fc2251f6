import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import HTTPCacheOperations

/// Recordings in a running gateway end by themselves, and leave the old job or the new one.
@Suite(.timeLimit(.minutes(20))) struct RecordingKeeperTests {
    let world = RecordingWorld()

    private func name(_ text: String = "deps") throws -> JobName { try #require(JobName(text)) }

    // MARK: Endings

    @Test func clientEndsRecordingAndJobIsInForce() async throws {
        let begun = try await world.keeper.begin(world.plan())
        #expect(begun.end == nil && begun.url != nil && world.addresses.openCount == 1)
        #expect(world.store.value.marks.count == 1)
        world.addresses.take(try RecordingWorld.exchange(1), at: begun.url)
        world.addresses.take(try RecordingWorld.exchange(2, at: "/y"), at: begun.url)
        #expect(await world.keeper.recordings.first?.count.requests == 2)
        let ended = try #require(await world.keeper.end(name(), keeps: true, by: "uid 2"))
        #expect(ended.end?.ending == .client(keeps: true) && ended.end?.isKept == true)
        let job = try #require(world.store.value.jobs[name()])
        #expect(job.entries.map(\.request.target.path) == ["/x", "/y"])
        #expect(world.addresses.openCount == 0 && world.store.value.marks.isEmpty)
        let again = try await world.keeper.end(name(), keeps: true, by: "uid 2")
        #expect(again == nil)
    }

    /// The gateway may be reloaded in the meantime. Mutant: `a-job-forgets-https`.
    @Test(arguments: [true, false]) func jobKeepsTheSchemeOfItsBeginning(_ clientsUseTLS: Bool) async throws {
        world.clientsUseTLS.value = clientsUseTLS
        let begun = try await world.keeper.begin(world.plan())
        world.clientsUseTLS.value = !clientsUseTLS
        #expect(world.addresses.use(at: begun.url)?.statesHTTPS == clientsUseTLS)
        _ = try await world.keeper.end(name(), keeps: true, by: "uid 2")
        let header = try #require(world.store.value.jobs[name()]?.header)
        #expect(header.statesHTTPS == clientsUseTLS && header.use.statesHTTPS == clientsUseTLS)
    }

    /// Mutant: the end of the time keeps every job.
    @Test(arguments: [true, false]) func timeEndsRecording(_ keepsAtEnd: Bool) async throws {
        var plan = try world.plan(for: 20)
        plan.keepsAtEnd = keepsAtEnd
        _ = try await world.keeper.begin(plan)
        await world.advance(by: 19)
        await world.sleeper.sleepers(atLeast: 1)
        #expect(await world.keeper.recordings.first?.end == nil)
        await world.advance(by: 1)
        let end = await world.end()
        #expect(end.ending == .time && end.isKept == keepsAtEnd)
        #expect(world.store.value.jobs.isEmpty != keepsAtEnd && world.store.value.marks.isEmpty)
    }

    /// Mutant: a recording that exceeds a limit is kept.
    @Test(arguments: JobRecording.Limit.allCases)
    func limitEndsRecordingWithoutJob(_ limit: JobRecording.Limit) async throws {
        var plan = try world.plan()
        plan.limits.requests = limit == .requests ? 3 : 100
        plan.limits.length = limit == .bytes ? 200 : 100_000
        let begun = try await world.keeper.begin(plan)
        for number in 1...9 {
            world.addresses.take(try RecordingWorld.exchange(UInt64(number), at: "/\(number)"), at: begun.url)
        }
        let end = await world.end()
        #expect(end.ending == .limit(limit) && !end.isKept)
        #expect(world.store.value.jobs.isEmpty && world.addresses.openCount == 0)
    }

    /// Responses that are removed anyway do not delay the end. Mutant:
    /// `a-discarded-recording-waits-for-its-fetches`.
    @Test(arguments: [true, false]) func onlyKeptJobWaitsForItsLastResponses(_ isKept: Bool) async throws {
        _ = try await world.keeper.begin(world.plan())
        _ = try await world.keeper.end(name(), keeps: isKept, by: "uid 1")
        #expect(world.addresses.ends.value == [isKept])
    }

    @Test func onlyTheFirstEndingCounts() async throws {
        _ = try await world.keeper.begin(world.plan())
        async let first = world.keeper.end(name(), keeps: false, by: "uid 1")
        async let second = world.keeper.end(name(), keeps: false, by: "uid 2")
        let states = try await [first, second].compactMap(\.self)
        #expect(!states.isEmpty && Set(states).count == 1)
        #expect(world.store.value.jobs.isEmpty)
    }

    @Test func gatewayThatEndsLeavesTheRestToTheNext() async throws {
        _ = try await world.keeper.begin(world.plan())
        await world.keeper.close()
        #expect(world.addresses.openCount == 0 && world.store.value.marks.count == 1)
        #expect(world.addresses.ends.value == [false])
        #expect(await world.keeper.recordings.map(\.end?.ending) == [.shutDown])
        let other = try world.plan("other")
        await #expect(throws: RecordingRefusal.ending) { try await world.keeper.begin(other) }
    }

    // MARK: Failures

    /// The rename decides whether there is a job, whatever fails after it.
    ///
    /// Mutant: a failure after the rename denies the job.
    @Test(arguments: [true, false]) func failureIsReportedWithWhatBecameOfTheJob(_ isAfter: Bool) async throws {
        world.store.change { ($0.failsBefore, $0.failsAfter) = (!isAfter, isAfter) }
        _ = try await world.keeper.begin(world.plan())
        let ended = try #require(await world.keeper.end(name(), keeps: true, by: "uid 1"))
        #expect(ended.end?.isKept == isAfter && ended.end?.ending.word == "failure")
    }

    @Test func addressThatCannotBeOpenedLeavesNoRecording() async throws {
        world.addresses.fails.value = true
        let plan = try world.plan()
        await #expect(throws: Addresses.Failure.self) { try await world.keeper.begin(plan) }
        #expect(world.store.value.marks.isEmpty)
        world.addresses.fails.value = false
        while await !world.keeper.recordings.isEmpty, !Task.isCancelled { await Task.yield() }
        _ = try await world.keeper.begin(plan)
    }

    @Test func recordingsOfKilledProcessesAreReported() async throws {
        let (lost, kept) = (try name("lost"), try name("kept"))
        world.store.change {
            $0.killed = [KilledRecording(lost, isKept: false), KilledRecording(kept, isKept: true)]
        }
        await world.keeper.restore()
        await world.keeper.restore()
        let states = await world.keeper.recordings
        #expect(states.map(\.name) == [kept, lost] && states.map(\.end?.isKept) == [true, false])
        #expect(states.allSatisfy { $0.end?.ending == .killed && $0.plan == nil })
    }

    // MARK: Refusals

    /// Mutant: any number of recordings may run.
    @Test func fourOfThirtyClientsBeginRecordings() async throws {
        let outcomes = await withTaskGroup(of: Bool.self) { [world] tasks in
            for number in 0..<30 {
                tasks.addTask {
                    guard let plan = try? world.plan("job-\(number)") else { return false }
                    return (try? await world.keeper.begin(plan)) != nil
                }
            }
            return await tasks.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.filter(\.self).count == RecordingPlan.limit)
        let running = await world.keeper.recordings
        #expect(running.count == RecordingPlan.limit && world.addresses.openCount == RecordingPlan.limit)
        #expect(Set(running.compactMap(\.url)).count == RecordingPlan.limit)
        let one = try #require(running.first)
        _ = await world.keeper.end(one.name, keeps: false, by: "uid 1")
        _ = try await world.keeper.begin(world.plan("another"))
    }

    @Test func nameModeAndJobAreChecked() async throws {
        var plan = try world.plan()
        let first = plan
        _ = try await world.keeper.begin(first)
        await #expect(throws: RecordingRefusal.running(first.name)) { try await world.keeper.begin(first) }
        _ = await world.keeper.end(first.name, keeps: true, by: "uid 1")
        await #expect(throws: RecordingRefusal.exists(first.name)) { try await world.keeper.begin(first) }
        plan.replaces = true
        world.mode.value = .offline
        let second = plan
        await #expect(throws: RecordingRefusal.mode(.offline)) { try await world.keeper.begin(second) }
        world.mode.value = .automatic
        _ = try await world.keeper.begin(second)
        _ = await world.keeper.end(second.name, keeps: false, by: "uid 1")
        #expect(world.store.value.jobs[second.name] != nil)
    }
}
