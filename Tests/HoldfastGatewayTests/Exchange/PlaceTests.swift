import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import Testing

@testable import EventLoops
@testable import HoldfastGateway

/// Clients that hold places at an origin, and clients that need one, over sockets.
/// docs/decisions/0025
@Suite(.timeLimit(.minutes(20))) struct PlaceTests {
    private static let fine = RawOrigin.Step.ok("fine", fields: "Cache-Control: max-age=60\r\n")

    /// Begins uploads on connections of their own, and lets them stall while the body runs.
    private func standing(
        _ count: Int,
        to port: Int,
        _ request: @escaping @Sendable (Int) -> String,
        _ body: () async throws -> Void
    ) async throws {
        let (sent, sending) = AsyncStream<Void>.makeStream()
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { uploads in
            for number in 0..<count {
                uploads.addTask {
                    try await RawClient.with(port: port) { client in
                        try await client.send(request(number))
                        sending.yield()
                        try await gate.wait()
                    }
                }
            }
            var left = count
            for await _ in sent {
                left -= 1
                if left == 0 { break }
            }
            do { try await body() } catch {
                gate.open()
                throw error
            }
            gate.open()
            try await uploads.waitForAll()
        }
    }

    /// 30 clients with an address of their own and a miss each; the number that did not get 200.
    private func lostMisses(_ gateway: RunningGateway, fields: @escaping @Sendable (Int) -> String) async throws -> Int
    {
        try await withThrowingTaskGroup(of: Bool.self) { clients in
            for number in 0..<30 {
                clients.addTask {
                    try await gateway.get("/miss/\(number)", fields: fields(number)).status != 200
                }
            }
            return try await clients.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }

    /// Mutant: `places-before-content`.
    @Test(arguments: ["Content-Length: 1000", "Content-Length: 1000000", "Transfer-Encoding: chunked"])
    func uploadsWithoutContentHoldNoPermit(framing: String) async throws {
        try await RawOrigin.with(Array(repeating: Self.fine, count: 30)) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let isChunked = framing.contains("chunked")
                let request = "POST / HTTP/1.1\r\nHost: g\r\n\(framing)\r\n\r\n" + (isChunked ? "" : "abc")
                try await standing(256, to: gateway.port, { _ in request }) {
                    let lost = try await lostMisses(gateway) { _ in "" }
                    #expect(lost == 0)
                    #expect(origin.connectionCount <= 30)
                }
            }
        }
    }

    /// Clients that have sent enough to hold a permit have three quarters of all permits, and no
    /// more.
    ///
    /// Mutant: `one-client-takes-all`.
    @Test func stalledUploadsOfOneClientLeavePlacesToOthers() async throws {
        let content = String(repeating: "x", count: 66_000)
        let loopback = try #require(AddressRange("127.0.0.1"))
        try await RawOrigin.with(Array(repeating: Self.fine, count: 30)) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.trustedClients = [loopback] }
            ) { gateway in
                let request =
                    "POST / HTTP/1.1\r\nHost: g\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 1000000\r\n\r\n"
                    + content
                try await standing(256, to: gateway.port, { _ in request }) {
                    let lost = try await lostMisses(gateway) { "X-Forwarded-For: 198.51.100.\($0)\r\n" }
                    #expect(lost == 0)
                    #expect(origin.connectionCount <= 192 + 30)
                }
            }
        }
    }

    /// Mutant: `content-at-any-rate`.
    @Test func stalledUploadEndsWith408AndFreesItsPlace() async throws {
        var options = EngineOptions.patient
        options.inFlightLimit = 1
        let content = String(repeating: "x", count: 66_000)
        try await RawOrigin.with([Self.fine, Self.fine, Self.fine]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                options: options,
                configure: { $0.timeouts.slowContent = .passing(300) }
            ) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000\r\n\r\n\(content)")
                    let response = try await client.response()
                    #expect(response.status == 408)
                    let miss = try await gateway.get("/")
                    #expect(miss.status == 200)
                }
            }
        }
    }

    /// Content that keeps coming is forwarded whole, with a length and in chunks.
    @Test(arguments: [3, 70_000, 300_000]) func contentThatArrivesIsForwardedWhole(length: Int) async throws {
        let content = String(repeating: "y", count: length)
        try await RawOrigin.with(Array(repeating: .ok("done"), count: 2)) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let fixed = try await gateway.send(
                    "POST / HTTP/1.1\r\nHost: g\r\nContent-Length: \(length)\r\n\r\n\(content)"
                )
                #expect(fixed.text == "done")
                let size = String(length, radix: 16)
                let chunked = try await gateway.send(
                    "POST / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(content)\r\n0\r\n\r\n"
                )
                #expect(chunked.text == "done")
                #expect(origin.requests.first?.contentText == content)
            }
        }
    }
}

/// The pace of a client's content as a value.
@Suite(.timeLimit(.minutes(20))) struct UploadPaceTests {
    private func pace(_ rate: Int64? = 1000) -> UploadPace { UploadPace(rate: rate, patience: .seconds(20)) }

    @Test func stallMayLastTwentySeconds() {
        #expect(pace().allowance == .seconds(20))
    }

    @Test func bytesExtendTimeByAtMostTwentySeconds() {
        var pace = pace()
        pace.record(5000, after: .seconds(15))
        #expect(pace.allowance == .seconds(10))
        pace.record(1_000_000_000, after: .seconds(1))
        #expect(pace.allowance == .seconds(20))
        pace.record(.max, after: .zero)
        #expect(pace.allowance == .seconds(20))
    }

    @Test func dribblingClientRunsOutOfTime() {
        var pace = pace()
        var time = TimeAmount.zero
        while let allowance = pace.allowance, allowance > .seconds(1) {
            pace.record(1, after: .seconds(1))
            time = time + .seconds(1)
            if time > .seconds(60) { break }
        }
        #expect(time <= .seconds(20))
    }

    @Test func clientThatKeepsTheRateHasNoTimeLimit() {
        var pace = pace()
        for _ in 0..<10_000 { pace.record(10_000, after: .seconds(10)) }
        #expect(pace.allowance == .seconds(20))
    }

    @Test func anyRateHasNoLimit() {
        #expect(pace(nil).allowance == nil)
    }
}
