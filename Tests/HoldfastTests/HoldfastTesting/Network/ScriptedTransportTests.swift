import Foundation
import Holdfast
import HoldfastTesting
import NIOCore
import Testing

/// A network that follows a script.
@Suite(.timeLimit(.minutes(20))) struct ScriptedTransportTests {
    private let clock = ManualDurationClock()
    private let transport: ScriptedTransport
    private let url = "https://a.example/x"

    init() { transport = ScriptedTransport(sleeper: clock) }

    private func send(
        _ method: HTTPRequest.Method = .get,
        _ path: String = "/x",
        _ body: String? = nil
    ) async throws -> String {
        let request = TransportRequest(
            head: HTTPRequest(method: method, scheme: "https", authority: "a.example", path: path),
            body: body.map { BodyStream(ByteBuffer(string: $0)) }
        )
        let response = try await transport.send(request)
        return "\(response.head.status.code) " + String(buffer: try await response.body.collect(upTo: 100))
    }

    private func failure(_ body: () async throws -> String) async -> TransportError? {
        do {
            Issue.record("'\(try await body())' came; nothing was to be expected.")
            return nil
        } catch {
            return error as? TransportError
        }
    }

    /// Otherwise, a test's time limit could not end it.
    @Test func waitingForRequestsEndsWithItsTask() async {
        let waiter = Task { [transport] in await transport.waitForRequests(1) }
        waiter.cancel()
        await waiter.value
    }

    @Test func singleRepliesComeBeforeRepeatedOnes() async throws {
        transport.script(url, repeating: .ok("a"), .failure(.connect))
        transport.script(url, .ok("1"), .notModified([.eTag: "\"1\""]))
        #expect(try await [send(), send(), send()] == ["200 1", "304 ", "200 a"])
        #expect(await failure { try await send() }?.code == .connect)
        #expect(try await send() == "200 a")
        #expect(transport.unscripted == [])
    }

    @Test func closureRespondsWithTheRequestsContent() async throws {
        transport.script(url, method: .post) { request in .ok("\(request.head.method) \(request.text ?? "")") }
        transport.script(url, .ok("any"))
        #expect(try await send(.post, "/x", "a body") == "200 POST a body")
        #expect(try await send() == "200 any")
        #expect(transport.received.map(\.text) == ["a body", nil])
    }

    /// Otherwise a test whose request never arrives outlasts its time limit.
    @Test func canceledWaitForRequestsEnds() async throws {
        transport.script(url, .ok("1"))
        let (endless, wait) = (Task { await transport.waitForRequests(2) }, Task { await transport.waitForRequests(1) })
        endless.cancel()
        await endless.value
        #expect(try await send() == "200 1")
        await wait.value
    }

    @Test func lateReplyWaitsForTheClock() async throws {
        transport.script(url, .ok("late").delayed(by: .seconds(5)))
        let task = Task { try await send() }
        await clock.sleepers(atLeast: 1)
        #expect(clock.deadlines.map(\.offset) == [.seconds(5)])
        clock.advance(by: .seconds(5))
        #expect(try await task.value == "200 late")
    }

    @Test(arguments: [0, 1, 3, 4]) func replyBreaksOffAfterAGivenNumberOfBytes(_ bytes: Int) async throws {
        transport.script(url, .ok("1234").truncated(after: bytes))
        let head = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/x")
        let response = try await transport.send(TransportRequest(head: head))
        var received = ""
        await #expect(throws: TransportError.self) {
            for try await chunk in response.body { received += String(buffer: chunk) }
        }
        #expect(received == "1234".prefix(bytes))
    }

    @Test func unscriptedRequestListsTheScript() async throws {
        transport.script(url + "?token=hunter2", .ok("1"))
        _ = try await send(.get, "/x?token=hunter2")
        transport.script(url, method: .post, repeating: .ok("2"))
        let failure = await failure { try await send(.get, "/y?token=hunter2") }
        let expected =
            "No response is scripted for 'GET https://a.example/y?token=REDACTED'. Scripted: "
            + "'POST https://a.example/x', 'https://a.example/x?token=REDACTED' (used up)."
        #expect(failure?.message == expected)
        #expect(transport.unscripted == ["https://a.example/y?token=hunter2"])
    }

    @Test func unreachableNetworkEndsRequestsAndKeepsItsScript() async throws {
        transport.script(url, .ok("1"), .ok("2"))
        let head = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/x")
        let underWay = try await transport.send(TransportRequest(head: head))
        transport.isReachable = false
        await #expect(throws: TransportError.self) { try await underWay.body.collect(upTo: 9) }
        #expect(await failure { try await send() }?.code == .connect)
        transport.isReachable = true
        #expect(try await send() == "200 2")
        #expect(transport.requests.count == 3 && transport.unscripted == [])
    }

    struct Weather: Endpoint {
        var hasSample = true
        var path: String { "/weather" }
        var sampleResponse: SampleResponse? { hasSample ? SampleResponse(json: #"{"wind": 7}"#) : nil }
    }

    @Test func endpointSampleIsItsResponse() async throws {
        let environment = ServerEnvironment("test", baseURL: "https://a.example")
        try transport.script(
            samplesOf: AnyEndpoint(Weather()),
            environment: environment,
            defaults: RequestDefaults(parameters: ["key": "1"])
        )
        #expect(try await send(.get, "/weather?key=1") == #"200 {"wind": 7}"#)
        #expect(try await send(.get, "/weather?key=1") == #"200 {"wind": 7}"#)
        let error = #expect(throws: ScriptError.self) {
            try transport.script(samplesOf: AnyEndpoint(Weather(hasSample: false)), environment: environment)
        }
        #expect(error?.message.contains("'Weather'") == true)
    }
}
