import Dispatch
import Foundation
import HoldfastTesting
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

/// Responses on disk are read and decoded where the call is made, unless this would keep another
/// task waiting.
@Suite(.timeLimit(.minutes(20))) struct ReadInPlaceTests {
    /// Notes whether it decodes on the executor of its task, or on one that the library chose.
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

    /// A client without memory that has a number stored, and the decoder of that number.
    private func withClient(_ body: (CachingClient, NotingDecoder) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        var configuration = CacheManager.Configuration()
        configuration.memoryBudget = 0
        let store = try await CacheManager.open(at: folder.store, configuration: configuration)
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

    /// Mutant: `mayRead` is false.
    @Test func taskWithoutAnActorReadsAndDecodesInPlace() async throws {
        try await withClient { client, decoder in
            #expect(decoder.areHere == [false])
            try await untilHere(decoder) { try await fetch(client) }
            try await untilHere(decoder) {
                let stored = try await storedOnly(client)
                #expect(stored == 7)
            }
        }
    }

    /// Reads until a read happens on the caller's executor. A busy machine may make a read seem to
    /// wait for the disk; after that no read happens here for a hundred times as long.
    private func untilHere(_ decoder: NotingDecoder, _ read: () async throws -> Void) async throws {
        while true {
            try await read()
            if decoder.areHere.last == true { return }
            await Task.yield()
        }
    }

    @concurrent
    private func storedOnly(_ client: CachingClient) async throws -> Int? {
        try await client.stored(Number())?.value
    }

    /// Mutant: `mayRead` does not check the actor.
    @Test func actorIsNotBlocked() async throws {
        try await withClient { client, decoder in
            try await fetchByAnActor(client)
            #expect(decoder.areHere == [false, false])
        }
    }

    /// Mutant: `mayRead` does not check the executor.
    @Test func foreignExecutorIsNotBlocked() async throws {
        try await withClient { client, _ in
            let number = Call(Number(), as: Int.self, client: client, usesStore: true)
            let here = await mayRead(client, number)
            let there = await withTaskExecutorPreference(Queue()) { await mayRead(client, number) }
            #expect(here && !there)
        }
    }

    /// Mutant: `mayRead` does not check the limit.
    @Test func timeLimitIsKept() async throws {
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
