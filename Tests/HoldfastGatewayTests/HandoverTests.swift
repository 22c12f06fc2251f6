import Foundation
import HTTPCache
import LocalSockets
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct HandoverTests {
    private func withOrigin(_ body: (RawOrigin) async throws -> Void) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: max-age=60\r\n") }) {
            try await body($0)
        }
    }

    /// Lets thirty clients connect and send a request.
    ///
    /// - Parameter body: gets a function that waits until every client has its response.
    private func withClients(
        of port: Int,
        _ body: (_ served: () async throws -> Void) async throws -> Void
    ) async throws {
        let (sent, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<30 {
                group.addTask {
                    try await RawClient.with(port: port) { client in
                        try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                        continuation.yield()
                        return try await client.response().text
                    }
                }
            }
            var count = 0
            for await _ in sent {
                count += 1
                if count == 30 { break }
            }
            try await body {
                for try await text in group { #expect(text == "a") }
            }
        }
    }

    /// Gives every event loop many turns, in which it would accept a connection that waits.
    private func runLoops() async throws {
        for _ in 0..<50 {
            for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try await loop.submit {}.get() }
        }
    }

    @Test func clientsWaitUntilTheGatewayAcceptsAgain() async throws {
        try await withOrigin { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for _ in 1...3 {
                    #expect(try await gateway.get("/").text == "a")
                    await gateway.server.drainForHandover()
                    #expect(gateway.server.connectionCount == 0)
                    let port = gateway.port
                    try await withClients(of: port) { served in
                        try await runLoops()
                        #expect(gateway.server.connectionCount == 0)
                        await gateway.server.acceptAgain()
                        try await served()
                    }
                }
                #expect(!gateway.server.isStopping)
            }
        }
    }

    @Test func canceledDrainLeavesRequestsInProgressAlone() async throws {
        let gates = Gates()
        let step = RawOrigin.Step.stream { writer in
            await gates.pass("response")
            try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
        }
        try await RawOrigin.with([step]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                async let response = gateway.get("/")
                await gates.arrival(at: "response")
                let draining = Task { await gateway.server.drainForHandover() }
                draining.cancel()
                await draining.value
                await gateway.server.acceptAgain()
                gates.open("response")
                let text = try await response.text
                #expect(text == "a")
            }
        }
    }

    @Test(arguments: [0, 1]) func anotherGatewayServesWaitingClientsOnAnyNumberOfLoops(_ moreLoops: Int) async throws {
        let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator()).count
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops + moreLoops)
        try await withOrigin { origin in
            try await RunningGateway.with(origin: origin.url) { first in
                let port = first.port
                let passed = try await first.server.passedListeners()
                #expect(passed.map(\.configured) == ["127.0.0.1:0"] && passed.map(\.address) == ["127.0.0.1:\(port)"])
                #expect(passed.first?.sockets.count == loops)
                await first.server.drainForHandover()
                try await withClients(of: port) { served in
                    first.server.leaveListeners()
                    await first.server.stop()
                    try await RunningGateway.with(origin: origin.url, group: group, passed: passed) { second in
                        #expect(second.port == port)
                        try await served()
                    }
                }
            }
        }
        try await group.shutdownGracefully()
    }

    @Test func pathOfAUnixSocketBelongsToTheOtherGateway() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/h.sock"
        let configure: (inout GatewayConfiguration) -> Void = { $0.listeners = [.unix(path: path)] }
        func files() -> [String] { TemporaryFolder.names(folder.path) }
        try await withOrigin { origin in
            try await RunningGateway.with(origin: origin.url, configure: configure) { first in
                let passed = try await first.server.passedListeners()
                first.server.leaveListeners()
                await first.server.stop()
                #expect(files() == ["h.sock", "h.sock.lock"])
                // No other process can claim it meanwhile.
                #expect(throws: SocketRefusal.self) { try SocketClaim(GatewayListener.place(path)) }
                try await RunningGateway.with(origin: origin.url, passed: passed, configure: configure) { _ in
                    let text = try await RawClient.with(path: path) { client in
                        try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                        return try await client.response().text
                    }
                    #expect(text == "a")
                }
            }
        }
        #expect(files().isEmpty)
    }

    @Test func listenersGetTheSocketsThatTheirConfigurationNames() throws {
        func listening() throws -> OpenDescriptor {
            let socket = try ListenAddress(host: "127.0.0.1", port: 0).boundSocket()
            #expect(systemListen(socket.number, 8) == 0)
            return socket
        }
        let sockets = try (0..<3).map { _ in try listening() }
        let addresses = try sockets.map { try InheritedSocket(descriptor: $0.number).address }
        let passed = zip(sockets, ["localhost:0", "127.0.0.1:0", "0.0.0.0:1"]).map { socket, configured in
            let address = (try? InheritedSocket(descriptor: socket.number).address).map { "\($0)" } ?? ""
            return PassedListener(configured: configured, address: address, sockets: [socket])
        }
        let listeners: [GatewayListener] = [
            // By what the configuration says, by where the listener is, and a new one.
            .address(ListenAddress(host: "127.0.0.1", port: 0)), .address(addresses[0]),
            .address(ListenAddress(host: "127.0.0.1", port: 0)),
        ]
        let prepared = try PreparedListener.prepare(listeners, from: passed)
        #expect(prepared.prefix(2).map { $0?.address } == [addresses[1], addresses[0]])
        #expect(prepared.prefix(2).map { $0?.sockets.first?.number } == [sockets[1].number, sockets[0].number])
        let new = try #require(prepared.last ?? nil)
        #expect(!addresses.contains(new.address) && new.address.port > 0)
        // An address in use that was not passed.
        let failure = #expect(throws: ListenFailure.self) {
            try PreparedListener.prepare([.address(addresses[2])], from: [])
        }
        #expect((failure?.cause as? IOError)?.errnoCode == EADDRINUSE)
    }
}
