import HTTPCache
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import HoldfastGateway

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// docs/attacks.md, 58: a steady upload may take longer than the time for a head, and the side that
/// stalls gets the error.
@Suite(.timeLimit(.minutes(20))) struct UploadTimeTests {
    /// Content that is collected before it is sent, and content that is streamed.
    enum Content: CaseIterable {
        case short, long, chunked

        var framing: String {
            switch self {
            case .short: "Content-Length: 10"
            case .long: "Content-Length: 100000"
            case .chunked: "Transfer-Encoding: chunked"
            }
        }

        /// The content in ten pieces.
        var pieces: [String] {
            switch self {
            case .short: Array(repeating: "a", count: 10)
            case .long: Array(repeating: String(repeating: "a", count: 10_000), count: 10)
            case .chunked: Array(repeating: "1\r\na\r\n", count: 9) + ["1\r\na\r\n0\r\n\r\n"]
            }
        }

        /// Enough content that the origin gets the request: the first 64 KiB are collected.
        var untilForwarded: String { pieces.prefix(7).joined() }

        func begin(_ client: RawClient) async throws {
            try await client.send("POST /upload HTTP/1.1\r\nHost: g\r\n\(framing)\r\n\r\n")
        }
    }

    /// Three times the hard timeout, by 30 clients at once.
    @Test func steadyUploadMayTakeLongerThanTheHardTimeout() async throws {
        var limit = Duration.milliseconds(500)
        while true {
            let statuses = try await statusesOfUploads(within: limit)
            if statuses.allSatisfy({ $0 == 200 }) { return }
            // On a busy machine the response itself may have taken longer.
            limit *= 2
            try #require(limit < .seconds(10), "\(statuses)")
        }
    }

    /// The statuses of 30 uploads, and of one request after them. Each takes more than three times
    /// the limit.
    private func statusesOfUploads(within limit: Duration) async throws -> [Int] {
        var options = EngineOptions()
        options.hardTimeout = limit
        return try await RawOrigin.with(respond: { _ in .ok("done") }) { origin in
            try await RunningGateway.with(origin: origin.url, options: options) { gateway in
                var statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<30 {
                        let content = Content.allCases[number % Content.allCases.count]
                        group.addTask {
                            try await RawClient.with(port: gateway.port) { client in
                                try await content.begin(client)
                                for piece in content.pieces {
                                    // This test is about time that passes.
                                    try await Task.sleep(for: limit / 3)  // lets time pass
                                    try? await client.send(piece)
                                }
                                return (try? await client.response().status) ?? 0
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                statuses.append(try await gateway.get("/").status)
                return statuses
            }
        }
    }

    /// Mutant: a client's stall that is recorded as a failure of its origin.
    @Test(arguments: Content.allCases) func stallingClientGets408(_ content: Content) async throws {
        try await RawOrigin.with(respond: { _ in .ok("done") }) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.content = .passing(100) }
            ) { gateway in
                for _ in 0..<5 {
                    try await RawClient.with(port: gateway.port) { client in
                        try await content.begin(client)
                        // On a busy machine the gateway may have given up before.
                        try? await client.send(content.pieces[0])
                        let response = try await client.response()
                        #expect(response.status == 408)
                    }
                }
                let next = try await gateway.get("/")
                #expect(next.status == 200)
            }
        }
    }

    /// An origin that accepts a connection and reads none of the content.
    @Test func originThatReadsNothingTimesOut() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.socketOption(.so_rcvbuf), value: 4096)
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let port = listener.localAddress?.port ?? 0
        try await RunningGateway.with(
            origin: "http://127.0.0.1:\(port)",
            configure: RunningGateway.trustingClients,
            configureTransport: { $0.sendTimeout = .passing(200) }
        ) { gateway in
            try await RawClient.with(port: gateway.port) { client in
                let length = 64 << 20
                try await client.send("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: \(length)\r\n\r\n")
                let sending = Task {
                    let piece = [UInt8](repeating: 97, count: 1 << 20)
                    for _ in 0..<(length >> 20) { try await client.send(piece) }
                }
                let response = try await client.response()
                #expect(response.status == 504)
                #expect(response.text.contains("read no more of the request's content within 200 ms ('timeouts.send')"))
                sending.cancel()
            }
        }
        try await listener.close()
    }

    /// A response that begins during the upload must continue, however long the upload takes.
    @Test func earlyResponseIsTimed() async throws {
        var options = EngineOptions()
        options.hardTimeout = .passing(300)
        let stops = RawOrigin.Step.early(Array("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20".utf8))
        try await RawOrigin.with([stops]) { origin in
            try await RunningGateway.with(origin: origin.url, options: options) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await Content.long.begin(client)
                    try await client.send(Content.long.untilForwarded)
                    var response = try await client.response()
                    while response.status == 100 { response = try await client.response() }
                    #expect(response.status == 504)
                }
            }
        }
    }

    /// The client gets a response at once that is complete before the upload.
    @Test func responseMayComeBeforeTheContentEnds() async throws {
        let early = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly"
        try await RawOrigin.with([.early(Array(early.utf8))]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await Content.long.begin(client)
                    try await client.send(Content.long.untilForwarded)
                    let response = try await client.response()
                    #expect(response.text == "early")
                }
            }
        }
    }

    /// A process without a free descriptor responds 503, and the origin is not marked unreachable.
    @Test func descriptorShortageIsNotAnOutage() async throws {
        await #expect(processExitsWith: .success) {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let logger = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
            let listener = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
            let port = listener.localAddress?.port ?? 0
            let transport = try OriginTransport(group: group, logger: logger)
            // The lowest free descriptor is the first one that may not be used.
            let free = dup(STDERR_FILENO)
            close(free)
            var limit = rlimit()
            #if canImport(Glibc)
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            #else
                let resource = RLIMIT_NOFILE
            #endif
            getrlimit(resource, &limit)
            limit.rlim_cur = rlim_t(free)
            guard setrlimit(resource, &limit) == 0 else { exit(2) }
            for host in ["127.0.0.1", "localhost"] {
                let head = HTTPRequest(method: .get, scheme: "http", authority: "\(host):\(port)", path: "/")
                do {
                    _ = try await transport.send(TransportRequest(head: head))
                    exit(3)
                } catch let error as TransportError {
                    guard error.code == .outOfDescriptors, !error.code.isUnreachable else {
                        print(error, error.cause ?? "")
                        exit(4)
                    }
                }
            }
            exit(0)
        }
    }
}
