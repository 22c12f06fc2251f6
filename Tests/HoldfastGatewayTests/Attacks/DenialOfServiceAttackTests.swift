import HTTPCache
import HoldfastGateway
import HoldfastTesting
import NIOCore
import Testing

/// Clients and origins that cost other clients their responses, over sockets. docs/attacks.md has
/// the mutant of each number.
@Suite(.timeLimit(.minutes(20))) struct DenialOfServiceAttackTests {
    /// 29: A head beyond the limits gets 431, and is neither forwarded nor stored.
    @Test func headBeyondLimitsGets431() async throws {
        try await AttackedGateway.expectRefusal(
            "GET / HTTP/1.1\r\nHost: g\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n",
            431
        )
        let response = "HTTP/1.1 431 Too Large\r\nContent-Length: 2\r\n\r\nno"
        try await RawOrigin.with([.response(response), .ok("yes")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer1 = try await gateway.get("/")
                #expect(answer1.status == 431)
                let answer2 = try await gateway.get("/")
                #expect(answer2.text == "yes")
            }
        }
    }

    /// 30: Control characters are not forwarded.
    @Test(
        arguments: [
            "GET /\u{1} HTTP/1.1\r\nHost: g", "GET /\u{7F} HTTP/1.1\r\nHost: g", "GET /a\tb HTTP/1.1\r\nHost: g",
            "GET / HTTP/1.1\r\nHost: g\r\nX: a\u{1}b", "GET / HTTP/1.1\r\nHost: g\r\nX: a\u{7F}b",
            "GET / HTTP/1.1\r\nHost: g\u{1}",
        ]
    )
    func controlCharactersAreNotForwarded(request: String) async throws {
        try await AttackedGateway.expectRefusal(request + "\r\n\r\n", 400)
    }

    /// 31: An error that a client provokes for a good URI reaches that client only.
    @Test(
        arguments: [
            "400 Bad Request", "405 Method Not Allowed", "413 Content Too Large", "414 URI Too Long",
            "416 Range Not Satisfiable", "431 Request Header Fields Too Large", "501 Not Implemented",
        ]
    )
    func provokedErrorReachesOnlyItsClient(status: String) async throws {
        let error = "HTTP/1.1 \(status)\r\nCache-Control: public, max-age=86400\r\nContent-Length: 2\r\n\r\nno"
        try await RawOrigin.with([.response(error), .ok("good", fields: AttackedGateway.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let provoking = "X-Large: \(String(repeating: "a", count: 20_000))\r\n"
                let provoked = try await gateway.get("/", fields: provoking)
                #expect(provoked.text == "no")
                #expect(try await gateway.get("/").text == "good")
                #expect(try await gateway.get("/").text == "good")
                #expect(origin.requests.count == 2)
            }
        }
    }

    /// 33: Many, tiny or overlapping ranges cost no more than the whole.
    @Test(
        arguments: [
            (0..<200).map { "\($0)-\($0)" }.joined(separator: ","), String(repeating: "0-,", count: 100) + "0-",
            (0..<2000).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ","),
        ]
    )
    func manyRangesCostNoMoreThanTheWhole(ranges: String) async throws {
        let content = String(repeating: "0123456789", count: 100)
        try await RawOrigin.with([.ok(content, fields: AttackedGateway.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/")
                let response = try await gateway.get("/", fields: "Range: bytes=\(ranges)\r\n")
                #expect([200, 206, 416].contains(response.status))
                #expect(response.content.count <= content.utf8.count + 2048)
                #expect(origin.requests.count == 1)
            }
        }
    }

    /// 33: A range beyond the cap is not forwarded.
    @Test func rangeBeyondCapIsNotForwarded() async throws {
        let within = "bytes=" + (0..<16).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        for (range, isForwarded) in [
            (within, true), (within + ",40-41", false), ("bytes=0-" + String(repeating: "0", count: 2000), false),
        ] {
            try await RawOrigin.with([.ok("whole", fields: AttackedGateway.cacheable)]) { origin in
                try await RunningGateway.with(origin: origin.url) { gateway in
                    let response = try await gateway.get("/", fields: "Range: \(range)\r\nIf-Range: \"1\"\r\n")
                    #expect(response.status == 200 && response.text == "whole")
                    #expect(origin.requests.first?.values("Range") == (isForwarded ? [range] : []))
                    #expect(origin.requests.first?.values("If-Range") == (isForwarded ? ["\"1\""] : []))
                }
            }
        }
    }

    /// 35: A client that reads nothing slows no other client.
    @Test func slowReaderSlowsNoOtherClient() async throws {
        let content = [UInt8](repeating: 0x61, count: 16 << 20)
        let head = "HTTP/1.1 200 OK\r\n\(AttackedGateway.cacheable)Content-Length: \(content.count)\r\n\r\n"
        try await RawOrigin.with([.response(Array(head.utf8) + content)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port, receiveBuffer: 16 << 10) { slow in
                    try await slow.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    await origin.requests(reach: 1)
                    let other = try await gateway.get("/")
                    #expect(other.content.count == content.count && other.isComplete)
                    #expect(origin.requests.count == 1)
                }
            }
        }
    }

    /// 36: A client that aborts truncates no stored response.
    @Test func abortTruncatesNoStoredResponse() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let slow = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\n\(AttackedGateway.cacheable)Content-Length: 10\r\n\r\nhello")
            for await _ in gate.stream { break }
            try await writer.write("world")
        }
        try await RawOrigin.with([slow]) { origin in
            // The second for which a fetch continues without a reader does not pass.
            try await RunningGateway.with(origin: origin.url, sleeper: ManualDurationClock()) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = await client.read()
                    await client.reset()
                }
                gate.continuation.finish()
                // The fetch continues without the client, and stores a complete response.
                for _ in 0..<2 {
                    let response = try await gateway.get("/")
                    #expect(response.text == "helloworld")
                }
                #expect(origin.requests.count == 1)
            }
        }
    }

    /// 39: A flood of distinct queries gets only its permits at the origin; the rest fails at once.
    @Test func floodGetsOnlyItsPermits() async throws {
        var options = EngineOptions.patient
        options.inFlightLimit = 2
        options.waitingLimit = 1
        try await RawOrigin.with([.silence, .silence]) { origin in
            try await RunningGateway.with(origin: origin.url, options: options) { gateway in
                try await withThrowingTaskGroup(of: RawResponse?.self) { tasks in
                    for number in 0..<12 {
                        tasks.addTask { try? await gateway.get("/?\(number)") }
                    }
                    var refused = 0
                    while refused < 9, let response = try await tasks.next() {
                        #expect(response?.status == 503)
                        #expect(response?["Cache-Status"]?.contains("detail=overloaded") == true)
                        #expect(response?.text.contains("urn:holdfast:problem:overloaded") == true)
                        refused += 1
                    }
                    #expect(refused == 9)
                    await origin.requests(reach: 2)
                    #expect(origin.requests.count == 2 && gateway.engine.inFlightFetchCount <= 3)
                    // The silent ones end with their connections.
                    await origin.stop()
                    while try await tasks.next() != nil {}
                }
            }
        }
    }

    /// 40: A response that may not be shared releases its waiting requests in parallel.
    @Test func uncacheableLeaderReleasesWaitersInParallel() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let leader = RawOrigin.Step.stream { writer in
            for await _ in gate.stream { break }
            try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\n\r\n0")
        }
        try await RawOrigin.with([leader, .silence, .silence]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await withThrowingTaskGroup(of: RawResponse?.self) { tasks in
                    for _ in 0..<3 { tasks.addTask { try? await gateway.get("/") } }
                    await origin.requests(reach: 1)
                    while gateway.engine.memberCount < 3, !Task.isCancelled { await Task.yield() }
                    gate.continuation.finish()
                    // Both are sent before either gets a response, so they do not wait for each
                    // other.
                    await origin.requests(reach: 3)
                    #expect(try await tasks.next()??.text == "0")
                    await origin.stop()
                    while try await tasks.next() != nil {}
                }
            }
        }
    }

    /// 40: Requests that wait for a silent origin wait no longer than its timeout.
    @Test func waitersOfSilentOriginTimeOut() async throws {
        var options = EngineOptions()
        options.hardTimeout = .passing(200)
        // On a busy machine one of them may come after the first has given up.
        try await RawOrigin.with([.silence, .silence, .silence]) { origin in
            try await RunningGateway.with(origin: origin.url, mode: .online, options: options) { gateway in
                try await withThrowingTaskGroup(of: RawResponse.self) { tasks in
                    for _ in 0..<3 { tasks.addTask { try await gateway.get("/") } }
                    for try await response in tasks { #expect(response.status == 504) }
                }
            }
        }
    }
}
