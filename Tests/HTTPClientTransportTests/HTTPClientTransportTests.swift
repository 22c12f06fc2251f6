import HTTPCache
import HTTPCacheSemantics
import HTTPClientTransport
import HTTPTypes
import NIOCore
import SampleOrigin
import TestSupport
import Testing

// It has a gate of another kind than the sample origin.
import struct HoldfastTesting.SeededRandom

@Suite(.timeLimit(.minutes(20))) struct HTTPClientTransportTests {
    private func withTransport<Value>(
        _ configuration: HTTPClientTransport.Configuration = .patient,
        _ body: (RunningOrigin, HTTPClientTransport) async throws -> Value
    ) async throws -> Value {
        try await HTTPClientTransport.with(configuration) { transport in
            try await SampleOrigin.withOrigin { origin in try await body(origin, transport) }
        }
    }

    private func request(
        _ url: String,
        method: HTTPRequest.Method = .get,
        fields: HTTPFields = [:],
        body: BodyStream? = nil
    ) throws -> TransportRequest {
        TransportRequest(head: try HTTPRequest(method, url: url, fields: fields), body: body)
    }

    /// docs/architecture.md, "The key": the transport sends the target of the key, byte for byte.
    @Test(arguments: [
        "/", "/a|b", "/%zz", "/%", "/a%2Fb", "/a%2fb", "/./a/../b", "//a//b", "/a;b=c", "/a b", "/ä/日本", "/?", "/a?",
        "/a??b",
        "/a?x=1&x=2", "/a?x=%7C|", "/a?q=a+b%20c d", "/a?[]={}", "/a?x=\"<>\\^`", "/~user/(x)!*'", "/a?x=#fragment",
        "/a:b@c",
        "/%2e%2e/x", "/a?b=/c?d", "/a?=&&=", "/a?%E4", "/a?%", "/a?%a", "/a?x=%zz%2",
    ])
    func sendsTheKeyedTarget(suffix: String) async throws {
        try await withTransport { origin, transport in
            let url = origin.baseURL + suffix
            _ = try await transport.send(try request(url)).body.collect(upTo: 1 << 20)
            let keyed = try TargetURI(url).requestTarget
            #expect(origin.requests.last?.target == keyed)
        }
    }

    /// A target that the client beneath would change is rejected, not sent.
    @Test(arguments: ["/%E4", "/a/%00", "/a%FFb?x", "/a|b", "/%zz"])
    func rejectsTargetsItCannotSendUnchanged(suffix: String) async throws {
        try await withTransport { origin, transport in
            let head = HTTPRequest(method: .get, scheme: "http", authority: origin.authority, path: suffix)
            await #expect(throws: TransportError.self) { try await transport.send(TransportRequest(head: head)) }
            #expect(origin.requestCount == 0)
        }
    }

    @Test func sendsTheKeyedTargetForRandomURLs() async throws {
        let seed: UInt64 = 1
        var random = SeededRandom(seed: seed)
        let alphabet = Array("abzAZ09-._~:/?[]@!$&'()*+,;=%|\\\"<>{}^` éß日\u{7E}%2F%2e%zz")
        try await withTransport { origin, transport in
            var sent = 0
            for _ in 0..<300 {
                let text = String(
                    (0..<Int.random(in: 0...24, using: &random)).map { _ in
                        alphabet[Int.random(in: alphabet.indices, using: &random)]
                    }
                )
                let url = origin.baseURL + "/" + text
                guard (try? TargetURI(url)) != nil else { continue }
                sent += 1
                _ = try await transport.send(try request(url)).body.collect(upTo: 1 << 20)
                let keyed = try TargetURI(url).requestTarget
                #expect(origin.requests.last?.target == keyed, "seed \(seed), path '\(text)'")
            }
            #expect(sent > 200, "seed \(seed)")
        }
    }

    @Test func fieldsAndContentArriveUnchanged() async throws {
        try await withTransport { origin, transport in
            let fields: HTTPFields = [.accept: "text/plain", .acceptLanguage: "1", .acceptLanguage: "2"]
            let body = BodyStream(ByteBuffer(string: "content"))
            let response = try await transport.send(
                try request(origin.url("/echo"), method: .post, fields: fields, body: body)
            )
            #expect(response.head.status == .ok)
            _ = try await response.body.collect(upTo: 1 << 20)
            let received = try #require(origin.requests.last)
            #expect(received.values(of: "accept-language") == ["1", "2"])
            #expect(received["content-length"] == "7" && received["host"] == origin.authority)
            #expect(received["accept-encoding"] == nil && received.method == "POST")
        }
    }

    @Test func followsNoRedirects() async throws {
        try await withTransport { origin, transport in
            let response = try await transport.send(try request(origin.url("/redirect?to=/echo&status=302")))
            #expect(response.head.status.code == 302)
            #expect(origin.requestCount == 1)
        }
    }

    @Test func closedConnectionIsReported() async throws {
        try await withTransport { origin, transport in
            #expect(await code(transport, origin.url("/hangup")) == .connectionClosed)
            #expect(await code(transport, origin.url("/hangup?reset=true")) == .connectionClosed)
        }
    }

    @Test(arguments: ["/truncated?announced=100000&sent=10", "/truncated?sent=10&chunked=true"])
    func truncatedBodyThrows(target: String) async throws {
        try await withTransport { origin, transport in
            #expect(await code(transport, origin.url(target)) == .connectionClosed)
        }
    }

    @Test func stoppedOriginIsUnreachableAtOnce() async throws {
        // The transport neither waits for the connection nor retries it: that would take longer
        // than this test may.
        try await withTransport { origin, transport in
            let url = origin.url("/echo")
            await origin.stop()
            var error = await #expect(throws: TransportError.self) { try await transport.send(try request(url)) }
            // The kernel may have accepted the connection for a listener that was being closed.
            if error?.code == .connectionClosed {
                error = await #expect(throws: TransportError.self) { try await transport.send(try request(url)) }
            }
            #expect(error?.code == .connect, "\(String(describing: error?.cause))")
        }
    }

    @Test func unresolvableNameIsUnreachable() async throws {
        // With the default limits: the system's resolver decides how long this takes.
        try await withTransport(.init()) { _, transport in
            let code = await code(transport, "http://nowhere.invalid/")
            #expect(code?.isUnreachable == true)
        }
    }

    @Test func silentOriginTimesOut() async throws {
        try await withTransport(.init(idleTimeout: .milliseconds(100))) { origin, transport in  // passes
            #expect(await code(transport, origin.url("/slow?milliseconds=30000")) == .timeout)
        }
    }

    @Test func cancellingClosesTheConnection() async throws {
        try await withTransport { origin, transport in
            let gate = Gate()
            origin.force(.hold(gate))
            let sent = Task { try await transport.send(try request(origin.url("/echo"))) }
            while origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            sent.cancel()
            await origin.waitForOpenConnections(atMost: 0)
            await #expect(throws: TransportError.self) { _ = try await sent.value }
            gate.open()
        }
    }

    @Test func releasingABodyClosesTheConnection() async throws {
        try await withTransport { origin, transport in
            let gate = Gate()
            origin.force(.holdBody(after: 1000, gate))
            var response: TransportResponse? = try await transport.send(try request(origin.url("/bytes/10000000")))
            #expect(response?.head.status == .ok)
            response = nil
            await origin.waitForOpenConnections(atMost: 0)
            gate.open()
        }
    }

    @Test func cancellingAWaitingReaderClosesTheConnection() async throws {
        try await withTransport { origin, transport in
            let gate = Gate()
            origin.force(.holdBody(after: 1000, gate))
            let response = try await transport.send(try request(origin.url("/bytes/10000000")))
            let reading = Task { try await response.body.collect(upTo: 1 << 30) }
            reading.cancel()
            await #expect(throws: TransportError.self) { _ = try await reading.value }
            await origin.waitForOpenConnections(atMost: 0)
            gate.open()
        }
    }

    /// The response exceeds the buffer, so the exchange ends while the connection waits for a
    /// reader.
    @Test func releasingASlowReaderClosesTheConnection() async throws {
        try await withTransport { origin, transport in
            var response: TransportResponse? = try await transport.send(try request(origin.url("/bytes/20000000")))
            var iterator = response?.body.makeAsyncIterator()
            #expect(try await iterator?.next()?.readableBytes ?? 0 > 0)
            iterator = nil
            response = nil
            await origin.waitForOpenConnections(atMost: 0)
        }
    }

    @Test func bodyCanBeReadOnlyOnce() async throws {
        try await withTransport { origin, transport in
            let response = try await transport.send(try request(origin.url("/bytes/20000000")))
            #expect(try await response.body.collect(upTo: 1 << 30).readableBytes == 20_000_000)
            await #expect(throws: BodyStreamError.alreadyRead) {
                _ = try await response.body.collect(upTo: 1 << 30)
            }
        }
    }

    @Test func streamedContentArrivesWhole() async throws {
        try await withTransport { origin, transport in
            let pieces = (0..<50).map { ByteBuffer(repeating: UInt8($0), count: 10_000) }
            let body = BodyStream(length: 500_000) {
                var rest = pieces[...]
                return { rest.popFirst() }
            }
            _ = try await transport.send(try request(origin.url("/echo"), method: .post, body: body)).body
                .collect(upTo: 1 << 20)
            #expect(origin.requests.last?["content-length"] == "500000")
        }
    }

    @Test func failingContentEndsTheRequest() async throws {
        try await withTransport { origin, transport in
            let body = BodyStream(length: 500_000) {
                { throw TransportError(code: .invalidRequest, message: "The file is shorter than it was.") }
            }
            let request = try request(origin.url("/echo"), method: .post, body: body)
            let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
            #expect(error?.code == .invalidRequest)
            await origin.waitForOpenConnections(atMost: 0)
        }
    }

    @Test func sendsNothingAfterShutdown() async throws {
        try await SampleOrigin.withOrigin { origin in
            let transport = HTTPClientTransport()
            try await transport.shutDown()
            await #expect(throws: TransportError.self) { try await transport.send(try request(origin.url("/echo"))) }
            #expect(origin.requestCount == 0)
        }
    }

    @Test func streamsALargeBodyWhole() async throws {
        try await withTransport { origin, transport in
            let response = try await transport.send(try request(origin.url("/bytes/20000000")))
            #expect(response.body.length == 20_000_000)
            var count = 0
            for try await chunk in response.body { count += chunk.readableBytes }
            #expect(count == 20_000_000)
        }
    }

    @Test func messagesContainNoQuery() async throws {
        try await withTransport { origin, transport in
            let url = origin.url("/echo?token=secret")
            await origin.stop()
            do {
                _ = try await transport.send(try request(url))
                Issue.record("A stopped origin responded.")
            } catch {
                #expect(!"\(error)".contains("secret") && "\(error)".contains(origin.authority))
            }
        }
    }
}
