import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension TransportContract {
    private static let hello = ScriptedOrigin.Response("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")

    /// Rules for requests.
    static let sending: [Rule] = [
        Rule("One call sends one request, and returns one response.", [hello, hello, hello]) { tested in
            for count in 1...3 {
                let (head, body) = try await tested.exchange(tested.request("/\(count)"))
                tested.findings.equal(head.status.code, 200, "the status")
                tested.findings.equal(body, "hello", "the content")
                tested.findings.equal(tested.origin.requests.count, count, "requests on the wire")
            }
        },
        Rule(
            "The path is sent unchanged, byte for byte.",
            Array(repeating: hello, count: 12)
        ) { tested in
            let paths = [
                "/", "/a%2Fb", "/a%2fb", "/./a/../b", "//a//b", "/a;b=c", "/?", "/a??b", "/a?x=1&x=2", "/a?q=a+b%20c",
                "/~u/(x)!*'", "/a?x=%7C",
            ]
            for path in paths {
                _ = try await tested.exchange(tested.request(path))
                let line = tested.origin.requests.last?.split(separator: "\r\n").first.map(String.init)
                tested.findings.equal(line, "GET \(path) HTTP/1.1", "the request line")
            }
        },
        Rule("Method, authority, fields and content arrive unchanged.", [hello]) { tested in
            let fields: HTTPFields = [.accept: "text/plain", .acceptLanguage: "1", .acceptLanguage: "2"]
            let body = BodyStream(ByteBuffer(string: "content"))
            _ = try await tested.exchange(tested.request("/x", .put, fields: fields, body: body))
            let text = tested.origin.requests.last ?? ""
            let lines = text.split(separator: "\r\n").map { $0.lowercased() }
            tested.findings.equal(lines.first, "put /x http/1.1", "the request line")
            tested.findings.equal(lines.filter { $0 == "host: \(tested.origin.authority)" }.count, 1, "lines of 'Host'")
            tested.findings.equal(
                lines.filter { $0.hasPrefix("accept-language:") },
                ["accept-language: 1", "accept-language: 2"],
                "lines of a field with two values"
            )
            tested.findings.equal(lines.filter { $0.hasPrefix("content-length:") }, ["content-length: 7"], "the length")
            tested.findings.expect(text.hasSuffix("\r\n\r\ncontent"), "the request does not end with the content")
        },
        Rule("No field that changes the response is added to the request.", [hello]) { tested in
            _ = try await tested.exchange(tested.request())
            let lines = (tested.origin.requests.last ?? "").split(separator: "\r\n").map { $0.lowercased() }
            for name in ["accept-encoding", "range", "if-", "cache-control", "cookie", "authorization"] {
                let sent = lines.filter { $0.hasPrefix(name) }
                tested.findings.expect(sent.isEmpty, "it sent \(sent)")
            }
        },
    ]

    /// Rules for responses.
    static let receiving: [Rule] = [
        Rule(
            "No redirect is followed.",
            [.init("HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n"), hello]
        ) {
            tested in
            let (head, _) = try await tested.exchange(tested.request())
            tested.findings.equal(head.status.code, 302, "the status")
            tested.findings.equal(head.headerFields[.location], "/there", "the field 'Location'")
            tested.findings.equal(tested.origin.requests.count, 1, "requests on the wire")
        },
        Rule(
            "No content is decoded.",
            [.init("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 8\r\n\r\nnot gzip")]
        ) { tested in
            let (head, body) = try await tested.exchange(tested.request("/", fields: [.acceptEncoding: "gzip"]))
            tested.findings.equal(head.headerFields[.contentEncoding], "gzip", "the field 'Content-Encoding'")
            tested.findings.equal(body, "not gzip", "the content")
        },
        Rule(
            "Nothing is retried: the origin's first response is returned.",
            [.init("HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 4\r\n\r\nbusy"), hello]
        ) { tested in
            let (head, body) = try await tested.exchange(tested.request())
            tested.findings.equal(head.status.code, 503, "the status")
            tested.findings.equal(body, "busy", "the content")
            tested.findings.equal(tested.origin.requests.count, 1, "requests on the wire")
        },
        Rule(
            "Fields arrive in the order and number in which they were sent.",
            [
                .init(
                    "HTTP/1.1 200 OK\r\nvia: 1\r\nset-cookie: a\r\nvia: 2\r\nset-cookie: b\r\ncontent-length: 0\r\n\r\n"
                )
            ]
        ) { tested in
            let (head, _) = try await tested.exchange(tested.request())
            let fields = head.headerFields.filter { [.via, .setCookie].contains($0.name) }
            tested.findings.equal(fields.map(\.value), ["1", "a", "2", "b"], "the values")
        },
        Rule(
            "A final response that has no content has an empty body, regardless of its fields.",
            [
                .init("HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\netag: \"1\"\r\n\r\n"),
                .init("HTTP/1.1 204 No Content\r\n\r\n"),
                .init("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n"),
            ]
        ) { tested in
            for (method, status) in [(HTTPRequest.Method.get, 304), (.get, 204), (.head, 200)] {
                let (head, body) = try await tested.exchange(tested.request("/", method))
                tested.findings.equal(head.status.code, status, "the status")
                tested.findings.equal(body, "", "\(method) \(status): the content")
            }
        },
        Rule(
            "Interim responses are not returned as the response.",
            [.init("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfinal")]
        ) { tested in
            let (head, body) = try await tested.exchange(tested.request())
            tested.findings.equal(head.status.code, 200, "the status")
            tested.findings.equal(body, "final", "the content")
        },
        Rule(
            "'send' returns when the head arrives; the body follows as a stream.",
            [.init("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfirst", then: "later")]
        ) { tested in
            let response = try await tested.transport.send(tested.request())
            tested.findings.equal(response.head.status.code, 200, "the status before the body has arrived")
            var iterator = response.body.makeAsyncIterator()
            var text = ""
            while text.utf8.count < 5, let chunk = try await iterator.next() { text += String(buffer: chunk) }
            tested.findings.equal(text, "first", "the part before the pause")
            tested.origin.sendRest()
            while let chunk = try await iterator.next() { text += String(buffer: chunk) }
            tested.findings.equal(text, "firstlater", "the content")
        },
        Rule(
            "If the body is not read, the transport stops receiving it.",
            [.init("HTTP/1.1 200 OK\r\ncontent-length: \(Self.flood)\r\n\r\n", flooding: Self.flood)]
        ) { tested in
            let response = try await tested.transport.send(tested.request())
            var iterator = response.body.makeAsyncIterator()
            var received = try await iterator.next()?.readableBytes ?? 0
            // The origin writes until the socket buffers are full. It must stop long before the
            // end.
            await tested.origin.waitForStall()
            let sent = tested.origin.floodedBytes
            tested.findings.expect(
                sent < Self.flood,
                "all \(Self.flood) bytes were received, although only \(received) were read"
            )
            while let chunk = try await iterator.next() { received += chunk.readableBytes }
            tested.findings.equal(received, Self.flood, "bytes of the body, once it was read")
        },
    ]

    /// A number of bytes that exceeds the buffers of two sockets and a client.
    private static let flood = 96 << 20

    /// Rules for failures.
    static let failing: [Rule] = [
        Rule("A refused connection fails with 'connect', and the origin counts as unreachable.", []) { tested in
            await tested.origin.stop()
            let code = await tested.failure(tested.request())
            tested.findings.equal(code, .connect, "the code")
        },
        Rule(
            "If the origin closes the connection before the head, the error is 'connectionClosed', and a POST is not resent.",
            [.hangUp, hello]
        ) { tested in
            let code = await tested.failure(tested.request("/", .post))
            tested.findings.equal(code, .connectionClosed, "the code")
            tested.findings.equal(tested.origin.requests.count, 1, "requests on the wire")
        },
        Rule(
            "An origin that closes two connections before the head gets no third request.",
            [.hangUp, .hangUp, hello]
        ) { tested in
            let code = await tested.failure(tested.request())
            tested.findings.equal(code, .connectionClosed, "the code")
            // RFC 9110 §9.2.2 permits a second request.
            let count = tested.origin.requests.count
            tested.findings.expect(count <= 2, "\(count) requests were on the wire")
        },
        Rule(
            "A body that breaks off throws; it does not end silently.",
            [
                .init("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", closes: true),
                .init("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n", closes: true),
            ]
        ) { tested in
            for ending in ["by its length", "by its chunks"] {
                let code = await tested.failure(tested.request())
                tested.findings.equal(code, .connectionClosed, "the code of a body that is incomplete \(ending)")
            }
        },
        Rule("Canceling the calling task ends the exchange on the wire.", [.silence]) { tested in
            let exchange = Task { try await tested.transport.send(tested.request()) }
            await tested.origin.waitForRequests(1)
            exchange.cancel()
            await tested.origin.waitForClosed(1)
            if case .success = await exchange.result {
                tested.findings.add("a canceled exchange returned a response")
            }
        },
        Rule(
            "Releasing a body before its end ends the exchange on the wire.",
            [.init("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf")]
        ) { tested in
            let reader = Task {
                var iterator = try await tested.transport.send(tested.request()).body.makeAsyncIterator()
                _ = try await iterator.next()
                _ = try await iterator.next()
            }
            await tested.origin.waitForRequests(1)
            reader.cancel()
            await tested.origin.waitForClosed(1)
            _ = await reader.result
        },
    ]
}
