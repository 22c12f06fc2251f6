import HTTPCache
import HTTPCacheSemantics
import HTTPClientTransport
import HTTPTypes
import NIOCore
import SampleOrigin
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The transport opens as many connections as requests may be under way. A request that finds none
/// free does not make the origin unreachable.
@Suite(.timeLimit(.minutes(20))) struct ConnectionLimitTests {
    private static let patience = Duration.seconds(3600)

    private func request(_ url: String) throws -> TransportRequest {
        TransportRequest(head: try HTTPRequest(url: url))
    }

    @Test func sendsTwoHundredRequestsConcurrently() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await HTTPClientTransport.with { transport in
                let gate = Gate()
                origin.force(.hold(gate), times: 200)
                await withTaskGroup(of: TransportError.Code?.self) { group in
                    for number in 0..<200 {
                        group.addTask { await code(transport, origin.url("/echo?\(number)")) }
                    }
                    // The origin responds to none before all have arrived.
                    while origin.requestCount < 200, !Task.isCancelled { await Task.yield() }
                    gate.open()
                    for await code in group { #expect(code == nil) }
                }
            }
        }
    }

    /// Whether the transport knows that a request has to wait for a connection.
    private func findsNoConnection(_ transport: HTTPClientTransport, _ origin: RunningOrigin) async throws -> Bool {
        let isWaiting = Atomic(false)
        var request = try request(origin.url("/probe"))
        request.onWaiting = { isWaiting.store(true, ordering: .relaxed) }
        let probe = request
        await #expect(throws: TransportError.self) { _ = try await transport.send(probe) }
        return isWaiting.load(ordering: .relaxed)
    }

    /// Runs `body` with a transport whose two connections are both in use.
    private func withBusyConnections(
        _ body: @Sendable (HTTPClientTransport, RunningOrigin) async throws -> Void
    ) async throws {
        let configuration = HTTPClientTransport.Configuration(
            connectTimeout: .milliseconds(200),  // passes
            idleTimeout: Self.patience,
            connectionsPerOrigin: 2
        )
        try await SampleOrigin.withOrigin { origin in
            try await HTTPClientTransport.with(configuration) { transport in
                let gate = Gate()
                origin.force(.hold(gate), times: .max)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<2 {
                        group.addTask {
                            // A busy machine may be too slow for the short time to connect.
                            while !Task.isCancelled, await code(transport, origin.url("/held?\(number)")) != nil {}
                        }
                    }
                    while origin.requestCount < 2, !Task.isCancelled { await Task.yield() }
                    // The transport may notice later than the origin that a connection is in use.
                    while try await !findsNoConnection(transport, origin), !Task.isCancelled {}
                    try await body(transport, origin)
                    #expect(origin.requestCount == 2)
                    gate.open()
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func requestsWithoutAConnectionFailAsOverloaded() async throws {
        try await withBusyConnections { transport, origin in
            await withTaskGroup(of: TransportError.Code?.self) { group in
                for number in 0..<30 { group.addTask { await code(transport, origin.url("/surplus?\(number)")) } }
                for await code in group { #expect(code == .overloaded) }
            }
        }
    }

    @Test func reportsThatARequestWaitsForAConnection() async throws {
        try await withBusyConnections { transport, origin in
            let waits = Atomic(0)
            var request = try request(origin.url("/surplus"))
            request.onWaiting = { waits.add(1, ordering: .relaxed) }
            let waiting = request
            let error = await #expect(throws: TransportError.self) { try await transport.send(waiting) }
            #expect(error?.code == .overloaded)
            #expect(error?.message.contains("connectionsPerOrigin") == true && error?.message.contains("?") == false)
            #expect(waits.load(ordering: .relaxed) == 1)
        }
    }

    /// The caller's timeout ends before the transport's: the caller gets an error that shows that
    /// the request was never sent.
    @Test func cancelledWaitingRequestFailsAsOverloaded() async throws {
        try await withBusyConnections { transport, origin in
            let (waits, isWaiting) = AsyncStream<Void>.makeStream()
            var request = try request(origin.url("/surplus"))
            request.onWaiting = { isWaiting.finish() }
            let waiting = request
            let sent = Task { try await transport.send(waiting) }
            for await _ in waits {}
            sent.cancel()
            let error = await #expect(throws: TransportError.self) { _ = try await sent.value }
            #expect(error?.code == .overloaded)
        }
    }

    @Test func sixtyRequestsShareTwoConnections() async throws {
        let configuration = HTTPClientTransport.Configuration(
            connectTimeout: Self.patience,
            idleTimeout: Self.patience,
            connectionsPerOrigin: 2
        )
        try await SampleOrigin.withOrigin { origin in
            try await HTTPClientTransport.with(configuration) { transport in
                await withTaskGroup(of: TransportError.Code?.self) { group in
                    for number in 0..<60 { group.addTask { await code(transport, origin.url("/echo?\(number)")) } }
                    for await code in group { #expect(code == nil) }
                }
                #expect(origin.openConnections <= 2)
            }
        }
    }

    @Test(arguments: [1, 30]) func slowConnectFailsWithConnectTimeout(_ requests: Int) async throws {
        let configuration = HTTPClientTransport.Configuration(connectTimeout: .milliseconds(200))  // passes
        let listener = try SilentListener()
        listener.fill()
        try await HTTPClientTransport.with(configuration) { transport in
            await withTaskGroup(of: TransportError.Code?.self) { group in
                for number in 0..<requests { group.addTask { await code(transport, "\(listener.url)/\(number)") } }
                for await code in group { #expect(code == .connectTimeout) }
            }
        }
    }

    /// Another connection is in use, and more are allowed: the transport tried one and could not
    /// connect.
    @Test func slowFurtherConnectFailsWithConnectTimeout() async throws {
        let configuration = HTTPClientTransport.Configuration(
            connectTimeout: .milliseconds(200),  // passes
            idleTimeout: Self.patience
        )
        let listener = try SilentListener()
        try await HTTPClientTransport.with(configuration) { transport in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    // A busy machine may be too slow for the short time to connect.
                    while !Task.isCancelled, await code(transport, listener.url) == .connectTimeout {}
                }
                await listener.takeRequest()
                listener.fill()
                #expect(await code(transport, "\(listener.url)/second") == .connectTimeout)
                group.cancelAll()
            }
        }
    }

    @Test func closesIdleConnections() async throws {
        let configuration = HTTPClientTransport.Configuration(
            connectTimeout: Self.patience,
            idleTimeout: Self.patience,
            keptTime: .milliseconds(50)
        )
        try await SampleOrigin.withOrigin { origin in
            try await HTTPClientTransport.with(configuration) { transport in
                let gate = Gate()
                origin.force(.hold(gate), times: 50)
                await withTaskGroup(of: TransportError.Code?.self) { group in
                    for number in 0..<50 { group.addTask { await code(transport, origin.url("/echo?\(number)")) } }
                    while origin.requestCount < 50, !Task.isCancelled { await Task.yield() }
                    gate.open()
                    for await code in group { #expect(code == nil) }
                }
                #expect(origin.acceptedConnections == 50)
                await origin.waitForOpenConnections(atMost: 0)
            }
        }
    }
}

/// A socket that listens and accepts connections only on demand. With a full queue the system drops
/// packets to it, as for an origin that is gone.
private final class SilentListener: Sendable {
    private let listener: CInt
    private let others = Mutex<[CInt]>([])
    private let port: Int

    var url: String { "http://127.0.0.1:\(port)" }

    init() throws { (listener, port) = try LoopbackSocket.listening(backlog: 0) }

    deinit {
        for other in others.withLock({ $0 }) { close(other) }
        close(listener)
    }

    /// Fills the queue of connections.
    func fill() {
        for _ in 0..<4 { others.withLock { $0.append(LoopbackSocket.connecting(to: port)) } }
    }

    /// Accepts one connection and waits until something was sent on it.
    func takeRequest() async {
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        while !Task.isCancelled {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else {
                await Task.yield()
                continue
            }
            others.withLock { $0.append(connection) }
            _ = fcntl(connection, F_SETFL, O_NONBLOCK)
            var byte: UInt8 = 0
            // A connection that was given up before it was accepted ends at once.
            while !Task.isCancelled {
                let count = recv(connection, &byte, 1, 0)
                if count > 0 { return }
                if count == 0 { break }
                await Task.yield()
            }
        }
    }
}
