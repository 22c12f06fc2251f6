import Dispatch
import Foundation
import HoldfastTesting
import Synchronization
import Testing

@testable import Holdfast

/// Where what is stored on disk is read and decoded: where the call is made, unless that keeps
/// somebody waiting.
@Suite(.timeLimit(.minutes(20))) struct ReadingHereTests {
    /// Notes whether it decodes on the executor that its task had, or on one that the library gave
    /// it.
    private final class NotingDecoder: ResponseDecoder {
        private let notes = Mutex<[Bool]>([])
        var areHere: [Bool] { notes.withLock { $0 } }

        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            let isHere = withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil }
            notes.withLock { $0.append(isHere) }
            return try JSONDecoder().decode(type, from: data)
        }
    }

    private struct Number: Endpoint {
        typealias Response = Int
        var timeout: Duration?
        var baseURL: String { "https://a.example" }
        var path: String { "/number" }
    }

    /// A client without memory of a stored number, and what decodes it.
    private func withClient(_ body: (CachingClient, NotingDecoder) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = CacheManager.Configuration()
        configuration.memoryBudget = 0
        let store = try await CacheManager.open(at: folder, configuration: configuration)
        let transport = ScriptedTransport()
        transport.script("https://a.example/number", .ok("7", fields: [.cacheControl: "max-age=60"]))
        let decoder = NotingDecoder()
        let client = CachingClient(store: store, transport: transport, configuration: .init(decoder: decoder))
        _ = try await client.fetch(Number())
        try await body(client, decoder)
        try await client.close()
    }

    @concurrent
    private func fetch(_ client: CachingClient, _ endpoint: Number = Number()) async throws {
        let emission = try await client.fetch(endpoint, .storedFirst)
        #expect(emission.value == 7 && emission.source == .store)
    }

    @MainActor
    private func fetchByAnActor(_ client: CachingClient) async throws {
        let emission = try await client.fetch(Number(), .storedFirst)
        #expect(emission.value == 7 && emission.source == .store)
    }

    /// Mutant: `mayRead` false.
    @Test func aTaskOfNoActorReadsAndDecodesWhereItIs() async throws {
        try await withClient { client, decoder in
            #expect(decoder.areHere == [false])
            try await untilHere(decoder) { try await fetch(client) }
            try await untilHere(decoder) {
                let stored = try await storedOnly(client)
                #expect(stored == 7)
            }
        }
    }

    /// Reads until one of the reads is made here: on a busy machine one may look as if it had
    /// waited for a disk, and none is made here for a hundred times as long.
    private func untilHere(_ decoder: NotingDecoder, _ read: () async throws -> Void) async throws {
        let limit = ContinuousClock.now + .seconds(60)
        repeat {
            try await read()
            if decoder.areHere.last == true { return }
            await Task.yield()
        } while ContinuousClock.now < limit
        Issue.record("No read was made where its call was")
    }

    @concurrent
    private func storedOnly(_ client: CachingClient) async throws -> Int? {
        try await client.fetch(Number(), .storedOnly)?.value
    }

    /// Mutant: `mayRead` without its look at the actor.
    @Test func anActorIsNotKept() async throws {
        try await withClient { client, decoder in
            try await fetchByAnActor(client)
            #expect(decoder.areHere == [false, false])
        }
    }

    /// Mutant: `mayRead` without its look at the executor.
    @Test func anExecutorOfSomebodysIsNotKept() async throws {
        try await withClient { client, _ in
            let number = Call(Number(), as: Int.self, client: client, usesStore: true)
            let here = await mayRead(client, number)
            let there = await withTaskExecutorPreference(Queue()) { await mayRead(client, number) }
            #expect(here && !there)
        }
    }

    /// Mutant: `mayRead` without its look at the limit.
    @Test func aTimeLimitIsKept() async throws {
        try await withClient { client, decoder in
            try await fetch(client, Number(timeout: .seconds(60)))
            #expect(decoder.areHere == [false, false])
        }
    }

    @concurrent
    private func mayRead(_ client: CachingClient, _ call: Call<Int>) async -> Bool { client.mayRead(for: call) }

    private final class Queue: TaskExecutor {
        private let queue = DispatchQueue(label: "queue")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
