import NIOCore
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct FaultTests {
    @Test(arguments: [("/failing", 503), ("/failing?status=404", 404), ("/failing?status=200", 400)])
    func failingReturnsRequestedStatus(target: String, status: Int) async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get(target, to: $0) }
        #expect(response.status == status)
    }

    @Test func flakyFailsTheFirstTimesUnderEachName() async throws {
        try await SampleOrigin.withOrigin { origin in
            var statuses: [Int] = []
            for target in ["/flaky?fail=2", "/flaky?fail=2", "/flaky?fail=2", "/flaky?fail=1&name=other"] {
                statuses.append(try await RawClient.get(target, to: origin).status)
            }
            #expect(statuses == [503, 503, 200, 503])
        }
    }

    @Test func truncatedAnnouncesMoreThanItSends() async throws {
        try await SampleOrigin.withOrigin { origin in
            let response = try await RawClient.get("/truncated?announced=100000&sent=70000", to: origin)
            #expect(response["Content-Length"] == "100000")
            #expect(response.body == DeterministicBytes().bytes(0..<70_000))
            let chunked = try await RawClient.get("/truncated?announced=10&sent=5&chunked=true", to: origin)
            #expect(chunked.text.hasSuffix("0\r\n\r\n") == false)
        }
    }

    @Test func hangupClosesWithoutResponse() async throws {
        try await SampleOrigin.withOrigin { origin in
            await #expect(throws: RawClient.Failure.closedWithoutAnswer) {
                try await RawClient.get("/hangup", to: origin)
            }
            let error = await #expect(throws: IOError.self) {
                try await RawClient.get("/hangup?reset=true", to: origin)
            }
            #expect(error != nil)
        }
    }

    @Test func slowRespondsLate() async throws {
        try await SampleOrigin.withOrigin { origin in
            let slow = try await RawClient.get("/slow?milliseconds=1", to: origin)
            #expect(slow.status == 200)
            #expect(try await RawClient.get("/slow?milliseconds=30001", to: origin).status == 400)
        }
    }

    @Test func redirectLeadsToAPathAndMayHaveALifetime() async throws {
        try await SampleOrigin.withOrigin { origin in
            let response = try await RawClient.get("/redirect?to=/moments&status=307", to: origin)
            #expect(response.status == 307)
            #expect(response["Location"] == "/moments")
            #expect(try await RawClient.get("/redirect?to=https://x.example", to: origin).status == 400)
            let stored = try await RawClient.get("/redirect?to=//127.0.0.1:1/x&max-age=60", to: origin)
            #expect(stored["Location"] == "//127.0.0.1:1/x" && stored["Cache-Control"] == "max-age=60")
            #expect(response["Cache-Control"] == nil)
        }
    }

    @Test func forcedBehaviorsAreUsedUpInOrder() async throws {
        try await SampleOrigin.withOrigin { origin in
            origin.force(.status(502, fields: [("Retry-After", "9")]), times: 2, path: "/users/tides")
            origin.force(.respond(status: 201, body: "made up"))
            var statuses: [Int] = []
            for target in ["/users/tides", "/users/harbour", "/users/tides", "/users/tides"] {
                statuses.append(try await RawClient.get(target, to: origin).status)
            }
            #expect(statuses == [502, 201, 502, 200])
        }
    }

    @Test func endlessBehaviorEndsOnCommand() async throws {
        try await SampleOrigin.withOrigin { origin in
            origin.force(.hangUp, times: .max)
            for _ in 0..<3 {
                await #expect(throws: RawClient.Failure.self) { try await RawClient.get("/counter", to: origin) }
            }
            origin.behaveNormally()
            let response = try await RawClient.get("/counter", to: origin)
            #expect(response.text == #"{"request":4}"#)
        }
    }

    @Test func forcedFieldsReplaceAndRemove() async throws {
        try await SampleOrigin.withOrigin { origin in
            origin.force(.setFields([("Cache-Control", "no-cache"), ("ETag", "")]))
            let response = try await RawClient.get("/users/tides", to: origin)
            #expect(response["Cache-Control"] == "no-cache")
            #expect(response["ETag"] == nil)
        }
    }

    @Test func forcedTruncationKeepsTheAnnouncedLength() async throws {
        try await SampleOrigin.withOrigin { origin in
            let whole = try await RawClient.get("/users/tides", to: origin)
            origin.force(.truncate(after: 10))
            let cut = try await RawClient.get("/users/tides", to: origin)
            #expect(cut["Content-Length"] == whole["Content-Length"])
            #expect(cut.body == Array(whole.body.prefix(10)))
        }
    }

    @Test(.timeLimit(.minutes(20))) func heldRequestGetsResponseWhenGateOpens() async throws {
        try await SampleOrigin.withOrigin { origin in
            let gate = Gate()
            origin.force(.hold(gate), times: 2)
            async let first = RawClient.get("/users/tides", to: origin)
            async let second = RawClient.get("/users/harbour", to: origin)
            await gate.waitForArrivals(2)
            #expect(origin.requestCount == 2)
            gate.open()
            let statuses = try await [first.status, second.status]
            #expect(statuses == [200, 200])
        }
    }

    @Test(.timeLimit(.minutes(20))) func heldBodyArrivesInTwoParts() async throws {
        try await SampleOrigin.withOrigin { origin in
            let gate = Gate()
            origin.force(.holdBody(after: 4, gate))
            let ends = try await RawClient.withConnection(to: origin) { inbound, outbound in
                try await outbound.write(
                    ByteBuffer(string: "GET /bytes/10 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                )
                await gate.waitForArrivals(1)
                var received: [UInt8] = []
                var iterator = inbound.makeAsyncIterator()
                let firstPart = Array("\r\n\r\n".utf8) + DeterministicBytes().bytes(0..<4)
                while !received.suffix(8).elementsEqual(firstPart), let part = try await iterator.next() {
                    received.append(contentsOf: part.readableBytesView)
                }
                gate.open()
                while let part = try await iterator.next() { received.append(contentsOf: part.readableBytesView) }
                return Array(received.suffix(10))
            }
            #expect(ends == DeterministicBytes().bytes(0..<10))
        }
    }
}
