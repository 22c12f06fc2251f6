import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(20))) struct FaultyResponseStoreTests {
    let store = FaultyResponseStore(InMemoryResponseStore())
    let now = Timestamp(seconds: 1_767_225_600)

    private func key() throws -> StoreKey { StoreKey(method: .get, target: try TargetURI("https://a.example/x")) }

    private func put(_ text: String) async throws -> StoredResponse? {
        let head = StoredResponseHead(status: .ok, fields: [:], requestTime: now, responseTime: now)
        let draft = ResponseDraft(key: try key(), head: head, freshUntil: now, isUsableStale: true, storedAt: now)
        let writer = try await store.beginWrite(draft, fencingNumber: store.invalidationSequence)
        try await writer?.append(ByteBuffer(string: text))
        return try await writer?.finish()
    }

    @Test(arguments: FaultyResponseStore.Moment.allCases)
    func tornFinishIsVisibleOrNot(_ moment: FaultyResponseStore.Moment) async throws {
        store.fail([.finish], moment)
        await #expect(throws: FaultyResponseStore.Failure.self) { try await put("x") }
        #expect(try await store.lookup(try key()).count == (moment == .afterwards ? 1 : 0))
        #expect(store.failures == [.finish])
    }

    @Test func tornAppendWritesHalf() async throws {
        let head = StoredResponseHead(status: .ok, fields: [:], requestTime: now, responseTime: now)
        let draft = ResponseDraft(key: try key(), head: head, freshUntil: now, isUsableStale: true, storedAt: now)
        let writer = try #require(try await store.beginWrite(draft, fencingNumber: store.invalidationSequence))
        store.fail([.append], .afterwards)
        await #expect(throws: FaultyResponseStore.Failure.self) { try await writer.append(ByteBuffer(string: "1234")) }
        #expect(await writer.readableLength == 2)
    }

    @Test func sameSeedGivesSameFailures() async throws {
        func run(_ seed: UInt64) async throws -> [FaultyResponseStore.Operation] {
            let store = FaultyResponseStore(InMemoryResponseStore())
            store.failRandomly(seed: seed, probability: 0.3)
            for _ in 0..<100 {
                _ = try? await store.lookup(try key())
                _ = try? await store.invalidate(.all, keepingForOffline: true, at: now)
            }
            return store.failures
        }
        let first = try await run(1)
        #expect(try await run(1) == first)
        #expect(try await run(2) != first)
        #expect((20...100).contains(first.count))
    }

    @Test func heldOperationWaitsForGate() async throws {
        let gate = Gate()
        store.hold([.lookup], at: gate)
        let lookup = Task { [store] in try await store.lookup(try key()).count }
        #expect(try await put("x") != nil)
        gate.open()
        #expect(try await lookup.value == 1)
    }

    @Test func brokenBodyThrowsAtGivenByte() async throws {
        let stored = try #require(try await put("123456"))
        store.breakBodies(after: 4)
        var iterator = try #require(try await store.openBody(of: stored)).makeAsyncIterator()
        #expect(try await iterator.next() == ByteBuffer(string: "1234"))
        await #expect(throws: FaultyResponseStore.Failure.self) { try await iterator.next() }
        store.recover()
        #expect(try await store.openBody(of: stored)?.collect(upTo: 9).readableBytes == 6)
    }
}
