import Dispatch
import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// How a session makes requests, and how requests end.
@Suite(.timeLimit(.minutes(20))) struct SessionTests {
    /// An API's methods, all made by one private function: the code that a user of Holdfast writes.
    private struct Backend<Response: Decodable & Sendable>: Endpoint {
        let baseURL: String
        let path: String
        let method: HTTPRequest.Method
        let headers: HTTPFields
        let task: HTTPTask

        static func get(_ path: String, at url: String, headers: HTTPFields = [:], parameters: RequestParameters = [:])
            -> Self
        {
            request(.get, path, url, headers, .query(parameters))
        }
        static func post(_ path: String, at url: String, headers: HTTPFields = [:], parameters: RequestParameters = [:])
            -> Self
        {
            request(.post, path, url, headers, .json(parameters))
        }
        static func put(_ path: String, at url: String, headers: HTTPFields = [:], parameters: RequestParameters = [:])
            -> Self
        {
            request(.put, path, url, headers, .json(parameters))
        }
        static func delete(_ path: String, at url: String, headers: HTTPFields = [:]) -> Self {
            request(.delete, path, url, headers, .plain)
        }
        private static func request(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ url: String,
            _ headers: HTTPFields,
            _ task: HTTPTask
        ) -> Self {
            Self(baseURL: url, path: path, method: method, headers: headers, task: task)
        }
    }

    // The response type belongs to the request, one function makes all methods, and a path is
    // appended to a base URL.
    @Test func everyMethodSendsToAPathBelowTheBaseURL() async throws {
        try await ClientFixture.run { fixture in
            let url = fixture.origin.baseURL + "/echo"
            let requests: [Backend<Echo>] = [
                .get("a", at: url, parameters: ["page": 2]), .post("/b", at: url, parameters: ["page": 2]),
                .put("c/d", at: url), .delete("/e", at: url),
            ]
            var seen: [String] = []
            for request in requests {
                let echo = try await fixture.client.fetch(request).value
                seen.append("\(echo.method) \(echo.target) \(echo.body.length)")
            }
            #expect(seen == ["GET /echo/a?page=2 0", "POST /echo/b 10", "PUT /echo/c/d 2", "DELETE /echo/e 0"])
        }
    }

    // The client's default fields are merged with the call's; the call wins.
    @Test func callFieldsOverrideDefaultFields() async throws {
        let defaults = RequestDefaults(fields: [.userAgent: "app/1", .acceptLanguage: "de", .accept: "text/plain"])
        try await ClientFixture.run(.init(defaults: defaults)) { fixture in
            let headers: HTTPFields = [.acceptLanguage: "fr", .referer: "https://a.example/"]
            let echo = try await fixture.client.fetch(
                Backend<Echo>.post("/x", at: fixture.origin.baseURL + "/echo", headers: headers)
            ).value
            #expect(echo["User-Agent"] == ["app/1"] && echo["Accept"] == ["text/plain"])
            #expect(echo["Accept-Language"] == ["fr"] && echo["Referer"] == ["https://a.example/"])
        }
    }

    // The response is validated, decoded and delivered, and then the stream completes.
    @Test func responseIsValidatedDecodedDeliveredAndCompleted() async throws {
        try await ScriptedClient.run { fixture in
            let events = Events()
            fixture.script("/x", .fresh(#"{"name":"harbour"}"#))
            let call = fixture.get("/x").on(fixture.client)
                .validate { _ in events.append("validated") }
                .map([String: String].self)
                .map { value in
                    events.append("decoded")
                    return value
                }
            await call.request().subscribe(
                onNext: { events.append("delivered \($0.value)") },
                onError: { events.append("\($0)") },
                onCompleted: { events.append("completed") }
            ).finished()
            // A response that is stored is decoded once more before it is stored.
            #expect(events.all == ["validated", "decoded", #"delivered ["name": "harbour"]"#, "completed"])
        }
    }

    // Callbacks run neither on the caller's queue nor on an event loop.
    @Test func callbacksRunOffTheCallersQueueAndOffEventLoops() async throws {
        try await ClientFixture.run { fixture in
            let (client, feed, threads) = (fixture.client, fixture.feed, Events())
            let queue = DispatchQueue(label: "caller")
            let wasCalled = await withCheckedContinuation { continuation in
                // The queue is blocked until the last callback has run, so a callback on this queue
                // would never run.
                queue.async {
                    let completed = DispatchSemaphore(value: 0)
                    let subscription = client.startWith(feed).subscribe(
                        onNext: { _ in threads.append(Self.threadName) },
                        onCompleted: {
                            threads.append(Self.threadName)
                            completed.signal()
                        }
                    )
                    let result = completed.wait(timeout: .now() + 1200)  // a guard
                    subscription.cancel()
                    continuation.resume(returning: result == .success)
                }
            }
            #expect(wasCalled && threads.all.count == 2)
            #expect(threads.all.allSatisfy { !$0.hasPrefix("NIO-") }, "\(threads.all)")
        }
    }

    /// The name of the thread on Linux, where NIO names the threads of its event loops. Empty
    /// elsewhere.
    private static var threadName: String {
        (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
    }

    // A response without data, a rejected status, a failure without a status and undecodable
    // content are four errors. Each ends the request once.
    @Test(
        arguments: [
            ("/empty", HoldfastError.Code.noData, 200), ("/failing?status=503", .status, 503),
            ("/hangup", .originUnreachable, nil), ("/html", .decodingFailed, 200),
        ] as [(String, HoldfastError.Code, Int?)]
    )
    func eachFailureHasItsOwnErrorAndEndsTheRequestOnce(path: String, code: HoldfastError.Code, status: Int?)
        async throws
    {
        try await ClientFixture.run { fixture in
            let events = Events()
            let feed = AnyRequest<MomentsDetails>(baseURL: fixture.origin.baseURL, path: path)
            await feed.on(fixture.client).request().subscribe(
                onNext: { _ in events.append("next") },
                onError: { error in
                    events.append("\(error.code) \(error.status.map { "\($0.code)" } ?? "-")")
                    // The transport's error is passed through as the cause.
                    if error.status == nil { events.append("\(error.cause is TransportError)") }
                },
                onCompleted: { events.append("completed") }
            ).finished()
            #expect(events.all == ["\(code) \(status.map(String.init) ?? "-")"] + (status == nil ? ["true"] : []))
        }
    }

    // Cancelling the subscription cancels the request on the wire, and no callback runs.
    @Test(arguments: [false, true]) func cancellingTheSubscriptionClosesTheRequestOnTheWire(isInBody: Bool) async throws
    {
        try await ClientFixture.run { fixture in
            let (gate, events) = (OriginGate(), Events())
            fixture.origin.force(isInBody ? .holdBody(after: 10, gate) : .hold(gate))
            let subscription = fixture.feed.on(fixture.client).request().subscribe(
                onNext: { _ in events.append("next") },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            while fixture.origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            #expect(fixture.origin.openConnections == 1)
            subscription.cancel()
            await fixture.origin.waitUntilCancelled()
            await subscription.finished()
            #expect(events.all.isEmpty)
            gate.open()
        }
    }

    // A response that is being stored continues for one second without a reader, and no longer.
    @Test(arguments: ["/bytes/100000", "/bytes/100000?chunked=true"])
    func cancellingAllSubscriptionsEndsTheFetchBeingStored(path: String) async throws {
        try await ClientFixture.run { fixture in
            let (gate, events, reached) = (OriginGate(), Events(), HoldfastTesting.Gate())
            fixture.origin.force(.holdBody(after: 1000, gate))
            let call = fixture.client.call(fixture.get(path), as: Data.self).with { options in
                options.onProgress = { _ in reached.open() }
            }
            let subscriptions = (0..<30).map { _ in
                call.request().subscribe(
                    onNext: { _ in events.append("next") },
                    onError: { events.append("\($0.code)") },
                    onCompleted: { events.append("completed") }
                )
            }
            try await reached.wait()
            #expect(fixture.origin.requestCount == 1 && fixture.origin.openConnections == 1)
            for subscription in subscriptions { subscription.cancel() }
            await fixture.origin.waitUntilCancelled()
            for subscription in subscriptions { await subscription.finished() }
            #expect(events.all.isEmpty)
            gate.open()
        }
    }
}
