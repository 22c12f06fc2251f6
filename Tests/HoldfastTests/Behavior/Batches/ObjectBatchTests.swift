import Holdfast
import HoldfastTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct ObjectBatchTests {
    struct User: Codable, Sendable, Equatable { var id: String, name: String }

    /// The requested identifiers, and the origin's responses.
    private final class Origin: Sendable {
        struct State {
            var asked: [[String]] = []
            var unknown: Set<String> = []
            var failure: HoldfastError?
            var round = 1
        }
        let state = Mutex(State())
        var asked: [[String]] { state.withLock { $0.asked } }

        func objects(_ ids: [String]) throws -> [String: User] {
            try state.withLock { state in
                state.asked.append(ids)
                if let failure = state.failure { throw failure }
                let known = ids.filter { !state.unknown.contains($0) }
                return Dictionary(known.map { ($0, User(id: $0, name: "\($0) \(state.round)")) }) { $1 }
            }
        }
    }

    private let origin = Origin()
    private var users: ObjectBatch<String, User> {
        ObjectBatch(key: { "user/\($0)" }, expiry: .after(.seconds(60))) { [origin] ids, _ in try origin.objects(ids) }
    }

    @Test func missingObjectsAreFetchedByOneRequest() async throws {
        let fixture = try await ManualFixture()
        _ = try await fixture.client.fetch(["1", "2"], of: users)
        let result = try await fixture.client.fetch(["3", "1", "4", "2"], of: users)
        #expect(origin.asked == [["1", "2"], ["3", "4"]])
        #expect(result.items.mapValues(\.value.name) == ["1": "1 1", "2": "2 1", "3": "3 1", "4": "4 1"])
        #expect(result.items.mapValues(\.source) == ["1": .store, "2": .store, "3": .network, "4": .network])
        #expect(result.missing.isEmpty && result.failure == nil)
        try await fixture.close()
    }

    @Test func eachObjectIsStoredUnderItsKey() async throws {
        let fixture = try await ManualFixture()
        _ = try await fixture.client.fetch(["1", "2"], of: users)
        let stored = try await fixture.store.storedObject(User.self, forKey: "user/2")
        #expect(stored?.value == User(id: "2", name: "2 1"))
        #expect(stored?.expiresAt == fixture.clock.now().adding(.seconds(60)))
        try await fixture.close()
    }

    @Test func duplicateIDIsRequestedOnce() async throws {
        let fixture = try await ManualFixture()
        let result = try await fixture.client.fetch(["1", "2", "1", "1"], of: users)
        #expect(origin.asked == [["1", "2"]])
        #expect(result.items.count == 2)
        try await fixture.close()
    }

    @Test func completeBatchSendsNoRequest() async throws {
        let fixture = try await ManualFixture()
        _ = try await fixture.client.fetch(["1"], of: users)
        _ = try await fixture.client.fetch(["1"], of: users)
        _ = try await fixture.client.fetch([], of: users)
        #expect(origin.asked == [["1"]])
        try await fixture.close()
    }

    @Test func expiredObjectsAreFetchedAgain() async throws {
        let fixture = try await ManualFixture()
        _ = try await fixture.client.fetch(["1"], of: users)
        fixture.clock.advance(by: .seconds(60))
        origin.state.withLock { $0.round = 2 }
        let result = try await fixture.client.fetch(["1"], of: users)
        #expect(result["1"]?.name == "1 2")
        try await fixture.close()
    }

    @Test func unknownObjectsAreMissingWithoutAFailure() async throws {
        let fixture = try await ManualFixture()
        origin.state.withLock { $0.unknown = ["2"] }
        let result = try await fixture.client.fetch(["1", "2", "3"], of: users)
        #expect(result.missing == ["2"])
        #expect(result.failure == nil)
        try await fixture.close()
    }

    @Test func storedObjectsAreServedOfflineAndTheRestIsNamed() async throws {
        let fixture = try await ManualFixture()
        _ = try await fixture.client.fetch(["1", "2"], of: users)
        fixture.clock.advance(by: .seconds(3600))
        fixture.client.mode = .offline
        let result = try await fixture.client.fetch(["3", "2", "1", "4"], of: users)
        #expect(origin.asked == [["1", "2"]])
        #expect(result.items.mapValues(\.isStale) == ["1": true, "2": true])
        #expect(result.missing == ["3", "4"])
        #expect(result.failure?.code == .offlineMiss)
        await expect(.offlineMiss) { _ = try await fixture.client.fetch(["8", "9"], of: users) }
        try await fixture.close()
    }

    @Test func storedObjectsReplaceAnUnreachableOriginNotARejection() async throws {
        let fixture = try await ManualFixture()
        _ = try await fixture.client.fetch(["1"], of: users)
        fixture.clock.advance(by: .seconds(3600))
        origin.state.withLock { $0.failure = HoldfastError(code: .originUnreachable, message: "Unreachable.") }
        let result = try await fixture.client.fetch(["1", "2"], of: users)
        #expect(result["1"]?.name == "1 1" && result.items["1"]?.isStale == true)
        #expect(result.missing == ["2"] && result.failure?.code == .originUnreachable)
        origin.state.withLock { $0.failure = HoldfastError(code: .status, message: "No.", status: .badRequest) }
        await expect(.status) { _ = try await fixture.client.fetch(["1", "2"], of: users) }
        try await fixture.close()
    }

    @Test func oneEndpointFetchesAllMissingObjects() async throws {
        struct Users: Endpoint {
            typealias Response = [User]
            var ids: [String]
            var baseURL: String { "https://a.example" }
            var path: String { "/users" }
            var task: HTTPTask { .query(["ids": .string(ids.joined(separator: ","))]) }
        }
        let fixture = try await ManualFixture()
        let users = ObjectBatch<String, User>(key: { "user/\($0)" }, expiry: .never) {
            Users(ids: $0)
        } values: { users in
            Dictionary(users.map { ($0.id, $0) }) { $1 }
        }
        fixture.transport.script(
            "https://a.example/users?ids=1%2C2",
            .ok(#"[{"id":"1","name":"Ann"},{"id":"9","name":"Mallory"}]"#)
        )
        let result = try await fixture.client.fetch(["1", "2"], of: users)
        #expect(result.items.mapValues(\.value.name) == ["1": "Ann"])
        #expect(result.missing == ["2"])
        // Objects that were not requested are not stored.
        let unasked = try await fixture.store.storedObject(User.self, forKey: "user/9")
        #expect(unasked == nil)
        try await fixture.close()
    }
}
