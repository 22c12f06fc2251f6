import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

/// `store.events` of a rule, in exchanges.
@Suite(.timeLimit(.minutes(20))) struct EventStreamTests {
    private let url = EngineFixture.url
    private static let fields: HTTPFields = [.contentType: "text/event-stream; charset=utf-8"]
    private static let events = ["data: 1\n\n", "event: x\ndata: 2\n\n", "data: [DONE]\n\n"]
    private static let whole = events.joined()
    private static let apiKey = HTTPField.Name("X-Api-Key") ?? .accept

    private func fixture(
        largest: Int64 = 1 << 10,
        _ change: (inout ExchangeSettings) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            kind: .shared,
            rules: TestRules {
                $0.keyedContent = .json
                $0.overrides.lifetime = 60
                $0.eventStreams = EventStreamRule(largest: largest, ending: "[DONE]")
                change(&$0)
            }
        )
    }

    private func reply(
        _ chunks: [String] = EventStreamTests.events,
        ending: ScriptedTransport.Reply.Ending = .complete,
        beforeEnd: Gate? = nil
    ) -> ScriptedTransport.Reply {
        ScriptedTransport.Reply(
            head: HTTPResponse(status: .ok, headerFields: Self.fields),
            chunks: chunks.map { ByteBuffer(string: $0) },
            ending: ending,
            beforeEnd: beforeEnd
        )
    }

    private func request(
        _ fixture: EngineFixture,
        _ fields: HTTPFields = [:],
        method: HTTPRequest.Method = .post
    ) throws -> CacheRequest {
        var fields = fields
        fields[.contentType] = "application/json"
        var request = try fixture.request(url, fields, method: method)
        if method == .post { request.body = .buffer(ByteBuffer(string: #"{"stream":true}"#)) }
        return request
    }

    private func text(_ response: CacheResponse) async throws -> String {
        String(buffer: try await response.body.collect(upTo: 1 << 20))
    }

    /// The responses to requests that are made at once.
    private func responses(_ fixture: EngineFixture, to requests: [CacheRequest]) async throws -> [CacheResponse] {
        try await withThrowingTaskGroup(of: CacheResponse.self) { group in
            for request in requests { group.addTask { try await fixture.engine.respond(to: request) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    // MARK: Storing

    @Test(arguments: [HTTPRequest.Method.get, .post])
    func wholeStreamIsStoredByteForByte(_ method: HTTPRequest.Method) async throws {
        let fixture = fixture()
        fixture.transport.script(url, reply())
        let first = try await fixture.engine.respond(to: request(fixture, method: method))
        #expect(try await text(first) == Self.whole)
        #expect(first.outcome.isStored && first.lateRefusal?.refusal == nil)
        await fixture.untilIdle()
        let second = try await fixture.engine.respond(to: request(fixture, method: method))
        #expect(second.outcome.isHit && second.head.headerFields[.contentType] == Self.fields[.contentType])
        #expect(try await text(second) == Self.whole)
    }

    /// A stream that is not stored, and why.
    struct Loss: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var reason: StorageRefusal
        var chunks: [String]
        var isCut = false
        var largest: Int64 = 1 << 10

        static let all = [
            Loss(testDescription: "cut", reason: .cutShort, chunks: [EventStreamTests.events[0]], isCut: true),
            Loss(
                testDescription: "cut after its last event",
                reason: .cutShort,
                chunks: EventStreamTests.events,
                isCut: true
            ),
            Loss(
                testDescription: "no last event",
                reason: .lastEvent,
                chunks: [EventStreamTests.events[0], EventStreamTests.events[1]]
            ),
            Loss(testDescription: "half of the last event", reason: .lastEvent, chunks: ["data: [DONE]\n"]),
            Loss(
                testDescription: "another last event",
                reason: .lastEvent,
                chunks: EventStreamTests.events + [EventStreamTests.events[0]]
            ),
            Loss(testDescription: "empty", reason: .lastEvent, chunks: []),
            Loss(
                testDescription: "too long",
                reason: .bodyLength,
                chunks: EventStreamTests.events,
                largest: Int64(EventStreamTests.whole.utf8.count) - 1
            ),
        ]
    }

    @Test(arguments: Loss.all) func streamsThatAreNotWholeAreNotStored(_ loss: Loss) async throws {
        let fixture = fixture(largest: loss.largest)
        let error = TransportError(code: .connectionClosed, message: "The connection closed.")
        fixture.transport.script(url, reply(loss.chunks, ending: loss.isCut ? .brokenOff(error) : .complete), reply())
        let response = try await fixture.engine.respond(to: request(fixture))
        if loss.isCut {
            await #expect(throws: TransportError.self) { try await text(response) }
        } else {
            #expect(try await text(response) == loss.chunks.joined())
        }
        await fixture.untilIdle()
        #expect(response.lateRefusal?.refusal == loss.reason)
        #expect(fixture.memory.all.isEmpty)
        // The next request asks again.
        #expect(try await text(fixture.engine.respond(to: request(fixture))) == Self.whole)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func streamOfTheLargestSizeIsStored() async throws {
        let fixture = fixture(largest: Int64(Self.whole.utf8.count))
        fixture.transport.script(url, reply())
        #expect(try await text(fixture.engine.respond(to: request(fixture))) == Self.whole)
        await fixture.untilIdle()
        #expect(fixture.memory.all.count == 1)
    }

    @Test(
        arguments: [
            [.contentEncoding: "gzip"], [.contentType: "multipart/x-mixed-replace; boundary=a"],
            [.contentLength: "99999999"],
        ] as [HTTPFields]
    )
    func otherStreamsPass(_ changed: HTTPFields) async throws {
        let fixture = fixture()
        var reply = reply()
        for field in changed { reply.head.headerFields[field.name] = field.value }
        fixture.transport.script(url, reply)
        let response = try await fixture.engine.respond(to: request(fixture))
        #expect(response.outcome.notStored == (changed.contains(.contentLength) ? .bodyLength : .endless))
        #expect(fixture.memory.all.isEmpty)
    }

    // MARK: Sharing

    /// Mutant: a stream is delivered when it has ended.
    @Test func clientsWithOneCredentialShareAStreamAsItComes() async throws {
        let fixture = fixture { $0.principal = .field(.authorization) }
        let gate = Gate()
        fixture.transport.script(url, reply(beforeEnd: gate))
        let requests = try (0..<30).map { _ in try request(fixture, [.authorization: "Bearer a"]) }
        let responses = try await responses(fixture, to: requests)
        var readers = responses.map { $0.body.makeAsyncIterator() }
        for index in readers.indices {
            // The stream has not ended yet, and each client has its beginning.
            let first = try await readers[index].next()
            #expect(first.map { String(buffer: $0) }?.hasPrefix(Self.events[0]) == true)
        }
        gate.open()
        for index in readers.indices {
            while try await readers[index].next() != nil {}
        }
        #expect(fixture.transport.requests.count == 1)
        #expect(responses.filter(\.outcome.isCollapsed).count == 29)
        await fixture.untilIdle()
        let late = try await fixture.engine.respond(to: request(fixture, [.authorization: "Bearer a"]))
        #expect(try await text(late) == Self.whole && late.outcome.isHit)
    }

    @Test func clientsWithTwoCredentialsMakeTwoRequests() async throws {
        let fixture = fixture { $0.principal = .field(.authorization) }
        try await expectOneRequest(perCredential: .authorization, in: fixture)
    }

    /// A rule that ignores a credential shares stored responses, but no running request.
    @Test func requestsShareAFetchOnlyWithTheSameCredential() async throws {
        let fixture = fixture { $0.ignoredFields = [Self.apiKey] }
        try await expectOneRequest(perCredential: Self.apiKey, in: fixture)
        #expect(fixture.memory.all.count == 1)
    }

    /// Thirty clients with two credentials, in turns.
    private func expectOneRequest(perCredential name: HTTPField.Name, in fixture: EngineFixture) async throws {
        let gate = Gate()
        let reply = reply(beforeEnd: gate)
        fixture.transport.script(url) { _ in reply }
        let requests = try (0..<30).map { try request(fixture, [name: $0 % 2 == 0 ? "a" : "b"]) }
        let responses = try await responses(fixture, to: requests)
        gate.open()
        for response in responses { #expect(try await text(response) == Self.whole) }
        #expect(fixture.transport.requests.compactMap { $0.headerFields[name] }.sorted() == ["a", "b"])
        await fixture.untilIdle()
    }

    @Test func streamBeyondTheSizeIsNotJoined() async throws {
        let fixture = fixture(largest: 4)
        let gate = Gate()
        fixture.transport.script(url, reply(beforeEnd: gate), reply())
        let first = try await fixture.engine.respond(to: request(fixture))
        let key = try #require(fixture.engine.prepare(request(fixture))?.key)
        while !fixture.engine.isUnshared(key), !Task.isCancelled { await Task.yield() }
        let second = try await fixture.engine.respond(to: request(fixture))
        #expect(!second.outcome.isCollapsed && fixture.transport.requests.count == 2)
        gate.open()
        #expect(try await text(first) == Self.whole)
        #expect(try await text(second) == Self.whole)
    }
}
