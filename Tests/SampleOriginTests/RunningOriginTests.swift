import Foundation
import NIOCore
import NIOPosix
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct RunningOriginTests {
    @Test func countsRequestsByPathRouteAndInTotal() async throws {
        try await SampleOrigin.withOrigin { origin in
            for target in ["/moments?userID=tides", "/moments?userID=harbour", "/moments/tides-1", "/nowhere"] {
                _ = try await RawClient.get(target, to: origin)
            }
            #expect(origin.requestCount == 4)
            #expect(origin.requestCount(path: "/moments") == 2)
            #expect(origin.requestCount(path: "/moments/tides-1") == 1)
            #expect(origin.requestCountsByRoute["GET /moments/{id}"] == 1)
            #expect(origin.requestCountsByRoute["GET (no such route)"] == 1)
            let statistics = try await RawClient.get("/_statistics", to: origin)
            #expect(statistics.text.hasSuffix(#""total":4}"#))
            #expect(origin.requestCount == 4)
            origin.reset()
            #expect(origin.requestCount == 0)
        }
    }

    @Test func stoppedOriginRestartsOnItsPort() async throws {
        let origin = try await SampleOrigin.start()
        let port = origin.port
        _ = try await RawClient.send("POST", "/moments/tides-1/likes", to: origin)
        let liked = try await RawClient.get("/moments/tides-1", to: origin)
        for _ in 0..<3 {
            await origin.stop()
            await origin.stop()
            await #expect(throws: (any Error).self) { try await RawClient.get("/users/tides", to: origin) }
            try await origin.restart()
            try await origin.restart()
            #expect(origin.port == port)
            #expect(try await RawClient.get("/moments/tides-1", to: origin)["ETag"] == liked["ETag"])
        }
        #expect(origin.requestCount == 5)
        await origin.stop()
    }

    @Test func portOfStoppedOriginIsReserved() async throws {
        let stopped = try await SampleOrigin.start()
        await stopped.stop()
        for _ in 0..<20 {
            try await SampleOrigin.withOrigin { #expect($0.port != stopped.port) }
        }
        await #expect(throws: (any Error).self) { try await RawClient.get("/users/tides", to: stopped) }
    }

    @Test(.timeLimit(.minutes(20))) func stopEndsHeldSlowAndIdleRequests() async throws {
        let origin = try await SampleOrigin.start()
        let gate = Gate()
        origin.force(.hold(gate), path: "/users/tides")
        let requests = [
            Task { try await RawClient.get("/users/tides", to: origin).status },
            Task { try await RawClient.get("/slow?milliseconds=30000", to: origin).status },
            Task {
                try await RawClient.withConnection(to: origin) { inbound, _ in
                    for try await _ in inbound {}
                    throw RawClient.Failure.closedWithoutAnswer
                }
            },
        ]
        await gate.waitForArrivals(1)
        await origin.stop()
        for request in requests {
            await #expect(throws: (any Error).self) { try await request.value }
        }
        #expect(origin.openConnections == 0)
    }

    @Test(.timeLimit(.minutes(20))) func cancelledRequestClosesItsConnection() async throws {
        try await SampleOrigin.withOrigin { origin in
            let gate = Gate()
            origin.force(.hold(gate))
            let request = Task { try await RawClient.get("/users/tides", to: origin) }
            await gate.waitForArrivals(1)
            #expect(origin.openConnections == 1)
            request.cancel()
            await origin.waitForOpenConnections(atMost: 0)
            #expect(origin.acceptedConnections == 1)
        }
    }

    @Test func rejectsPortInUse() async throws {
        try await SampleOrigin.withOrigin { origin in
            let error = await #expect(throws: OriginError.self) { try await SampleOrigin.start(port: origin.port) }
            #expect(error?.code == .bind)
            #expect(error?.message.contains("'\(origin.authority)': another process listens there") == true)
        }
    }

    @Test func rejectsConfigurationOutOfRange() async throws {
        for configuration in [OriginConfiguration(port: 65_536), OriginConfiguration(maxAge: -1)] {
            let error = await #expect(throws: OriginError.self) { try await SampleOrigin.start(configuration) }
            #expect(error?.code == .configuration)
        }
    }

    @Test func dateFieldFollowsTheConfiguredClock() async throws {
        let response = try await SampleOrigin.withOrigin(OriginConfiguration(date: { 784_111_777 })) {
            try await RawClient.get("/users/tides", to: $0)
        }
        #expect(response.fields.filter { $0.name == "Date" }.map(\.value) == ["Sun, 06 Nov 1994 08:49:37 GMT"])
    }

    @Test func pipelinedRequestsKeepTheirOrder() async throws {
        try await SampleOrigin.withOrigin { origin in
            let requests = (1...20).map { number in
                "GET /counter?n=\(number) HTTP/1.1\r\nHost: x\r\n\(number == 20 ? "Connection: close\r\n" : "")\r\n"
            }
            let response = try await RawClient.send(raw: requests.joined(), to: origin)
            let numbers = response.text.matches(of: /"request":(\d+)/).compactMap { Int($0.output.1) }
            #expect(numbers == Array(1...20))
            #expect(origin.requests.map(\.target) == (1...20).map { "/counter?n=\($0)" })
            #expect(origin.acceptedConnections == 1)
        }
    }
}
