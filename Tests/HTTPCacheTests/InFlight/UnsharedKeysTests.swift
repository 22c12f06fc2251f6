import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

/// Requests whose responses cannot be shared do not wait for each other.
@Suite(.timeLimit(.minutes(20))) struct UnsharedKeysTests {
    private static let url = EngineFixture.url

    /// Sends requests at once, and returns their responses. None of them may wait for another.
    private func sendAtOnce(_ count: Int, _ fixture: EngineFixture, _ fields: HTTPFields = [:]) async throws -> Set<
        String
    > {
        let gate = Gate()
        let before = fixture.transport.requests.count
        for number in 0..<count {
            fixture.transport.script(Self.url, .ok("\(number)", fields: [.cacheControl: "no-store"], beforeHead: gate))
        }
        return try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { try await fixture.get(Self.url, fields).text } }
            while fixture.transport.requests.count < before + count, fixture.engine.memberCount < count {
                await Task.yield()
            }
            #expect(fixture.transport.requests.count == before + count)
            gate.open()
            return try await group.reduce(into: []) { $0.insert($1) }
        }
    }

    /// Sends requests at once, and returns when all but one of them wait for that one.
    private func shareOne(_ count: Int, _ fixture: EngineFixture) async throws {
        let gate = Gate()
        let before = fixture.transport.requests.count
        fixture.transport.script(Self.url, .fresh("shared", beforeHead: gate))
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { try await fixture.get().text } }
            while fixture.engine.memberCount < count, !Task.isCancelled { await Task.yield() }
            gate.open()
            for try await text in group { #expect(text == "shared") }
        }
        #expect(fixture.transport.requests.count == before + 1)
    }

    @Test(arguments: ["no-store", "private", "max-age=60"]) func unsharedResponsesArriveTogether(_ control: String)
        async throws
    {
        let fixture = EngineFixture(kind: .shared)
        var fields: HTTPFields = [.cacheControl: control]
        if control == "max-age=60" { fields[.setCookie] = "session=1" }
        fixture.transport.script(Self.url, .ok("first", fields: fields))
        try await fixture.get()
        #expect(try await sendAtOnce(20, fixture).count == 20)
    }

    @Test func requestsWithOneSessionDoNotWaitForEachOther() async throws {
        let fixture = EngineFixture(kind: .shared)
        let session: HTTPFields = [.cookie: "session=1"]
        fixture.transport.script(Self.url, .fresh("first"))
        try await fixture.get(Self.url, session)
        #expect(try await sendAtOnce(20, fixture, session).count == 20)
        try await shareOne(20, fixture)
    }

    @Test func storedResponseEndsIt() async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(Self.url, .ok("private", fields: [.cacheControl: "no-store"]), .fresh("stored"))
        try await fixture.get()
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await shareOne(500, fixture)
    }

    @Test func aMinuteEndsIt() async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(Self.url, .ok("private", fields: [.cacheControl: "no-store"]))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(60))
        try await shareOne(20, fixture)
    }

    @Test func confirmedResponseEndsIt() async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(
            Self.url,
            .fresh("stored", etag: "\"1\""),
            .ok("private", fields: [.cacheControl: "no-store"]),
            .status(.notModified, fields: [.cacheControl: "max-age=1", .eTag: "\"1\""])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get()
        #expect(try await fixture.get().text == "stored")
        fixture.clock.advance(by: .seconds(2))
        try await shareOne(20, fixture)
    }

    /// A client can provoke these, and the others must still share a fetch.
    @Test(
        arguments: [
            (.ok, "max-age=60", [.cacheControl: "no-store"]), (.notAcceptable, "no-store", [.accept: "x/y"]),
            (.internalServerError, "no-store", [:]), (.unauthorized, "no-store", [:]), (.notFound, "no-store", [:]),
        ] as [(HTTPResponse.Status, String, HTTPFields)]
    )
    func otherReasonsDoNotCount(_ status: HTTPResponse.Status, _ control: String, _ asked: HTTPFields) async throws {
        let fixture = EngineFixture(kind: .shared) { $0.failureThrottle = .zero }
        fixture.transport.script(Self.url, .status(status, "x", fields: [.cacheControl: control]))
        try await fixture.get(Self.url, asked)
        try await shareOne(20, fixture)
    }

    // MARK: The memory

    @Test func memoryIsBoundedAndKeepsTheNewestKeys() throws {
        var keys = UnsharedKeys()
        let now = Timestamp(seconds: 1000)
        let all = try (0..<5 * UnsharedKeys.limit).map { StoreKey(target: try TargetURI("https://a.example/\($0)")) }
        for key in all {
            keys.note(key, at: now)
            #expect(keys.count <= 2 * UnsharedKeys.limit)
        }
        #expect(all.suffix(UnsharedKeys.limit).allSatisfy { keys.contains($0, at: now) })
    }

    @Test func keyIsRememberedForAMinute() throws {
        var keys = UnsharedKeys()
        let key = StoreKey(target: try TargetURI("https://a.example/"))
        let now = Timestamp(seconds: 1000)
        #expect(!keys.contains(key, at: now))
        keys.note(key, at: now)
        #expect(keys.contains(key, at: now) && keys.contains(key, at: now.adding(.milliseconds(59_999))))
        #expect(!keys.contains(key, at: now.adding(.seconds(60))))
        #expect(!keys.contains(key, at: Timestamp(seconds: 999)), "the clock was set back")
        keys.note(key, at: now.adding(.seconds(30)))
        #expect(keys.contains(key, at: now.adding(.seconds(61))))
        keys.forget(key)
        #expect(!keys.contains(key, at: now.adding(.seconds(31))) && keys.isEmpty)
    }
}
