import Foundation
import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import LocalSockets
import NIOCore
import TestSupport
import Testing

@testable import HoldfastGateway

/// Several listeners, Unix sockets and inherited sockets.
@Suite(.timeLimit(.minutes(20)))
struct UnixListenerTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body($0.path) }
    }

    private func withOrigin(_ body: (RawOrigin) async throws -> Void) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: max-age=60\r\n") }) {
            try await body($0)
        }
    }

    /// Sends a request on thirty connections at once.
    private func expectThirtyServed(_ get: @escaping @Sendable () async throws -> RawResponse) async throws {
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<30 { group.addTask { try await get().text } }
            for try await text in group { #expect(text == "a") }
        }
    }

    private func get(_ path: String) async throws -> RawResponse {
        try await RawClient.with(path: path) { client in
            try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
            return try await client.response()
        }
    }

    /// Mutant: `relative-socket-is-shown-as-a-host`.
    @Test func relativePathIsShownAsAPath() {
        let here = FileManager.default.currentDirectoryPath
        #expect(ListenAddress(path: "a.sock").description == "unix:\(here)/a.sock")
        #expect(ListenAddress(path: "@a").description == "unix:@a" && ListenAddress(path: "/a").path == "/a")
    }

    /// Mutant: `relative-listener-is-announced-as-a-host`.
    @Test func listenerWithARelativePathIsAnnouncedWithItsWholePath() async throws {
        try await withFolder { folder in
            let here = FileManager.default.currentDirectoryPath
            let up = String(repeating: "../", count: here.split(separator: "/").count)
            let path = up + folder.dropFirst() + "/h.sock"
            try await withOrigin { origin in
                try await RunningGateway.with(origin: origin.url, configure: { $0.listeners = [.unix(path: path)] }) {
                    gateway in
                    let address = try await gateway.server.passedListeners().first?.address ?? ""
                    #expect(address.hasPrefix("unix:/") && address.hasSuffix("/h.sock"), "\(address)")
                }
            }
        }
    }

    /// The socket has its permissions, and is removed at the end.
    @Test func servesAtAddressAndThroughUnixSocket() async throws {
        try await withFolder { folder in
            let path = folder + "/h.sock"
            try await withOrigin { origin in
                try await RunningGateway.with(
                    origin: origin.url,
                    configure: { $0.listeners += [.unix(path: path, mode: 0o600)] }
                ) { gateway in
                    try await expectThirtyServed { try await gateway.get("/") }
                    try await expectThirtyServed { try await get(path) }
                    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                    #expect(mode == 0o600)
                }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test func replacesSocketOfKilledProcessButNotOfLivingOne() async throws {
        try await withFolder { folder in
            let path = folder + "/h.sock"
            let descriptor = UnixAddress.listen(at: path)
            try #require(descriptor >= 0)
            try await withOrigin { origin in
                var refusal: (any Error)?
                do {
                    try await RunningGateway.with(
                        origin: origin.url,
                        configure: { $0.listeners = [.unix(path: path)] }
                    ) { _ in }
                } catch {
                    refusal = error
                }
                #expect((refusal as? SocketRefusal)?.isInUse == true && "\(refusal, default: "")".contains("'listen'"))
                // The process ends, and its file stays.
                close(descriptor)
                #expect(FileManager.default.fileExists(atPath: path))
                try await RunningGateway.with(origin: origin.url, configure: { $0.listeners = [.unix(path: path)] }) {
                    _ in
                    let response = try await get(path)
                    #expect(response.text == "a")
                }
            }
        }
    }

    @Test func leavesNoneOpenIfOneListenerCannotBeUsed() async throws {
        try await withFolder { folder in
            try await withOrigin { origin in
                let holder = try ListeningDescriptor()
                var refusal: (any Error)?
                do {
                    try await RunningGateway.with(
                        origin: origin.url,
                        configure: {
                            $0.listeners = [
                                .unix(path: folder + "/h.sock"),
                                .address(ListenAddress(host: "127.0.0.1", port: holder.port)),
                            ]
                        }
                    ) { _ in }
                } catch {
                    refusal = error
                }
                #expect((refusal as? IOError)?.errnoCode == EADDRINUSE)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            }
        }
    }

    @Test(arguments: [0, GatewayListener.limit + 1])
    func numberOfListenersIsBetweenOneAndTheLimit(_ count: Int) async throws {
        let one = GatewayListener.address(ListenAddress(host: "127.0.0.1", port: 0))
        await #expect(throws: InvalidSetting.self) {
            try await RunningGateway.with(
                origin: "http://127.0.0.1:1",
                configure: { $0.listeners = Array(repeating: one, count: count) }
            ) { _ in }
        }
    }

    // MARK: Who the clients are

    @Test func unixClientIsNamedAndMayStateNoAddressOfItsOwn() async throws {
        try await expectForwarded(
            trusted: [],
            forwarded: "for=_unix;proto=http",
            addresses: nil
        )
    }

    @Test func addressRangeDoesNotTrustUnixClients() async throws {
        let all = ["127.0.0.0/8", "::/0", "0.0.0.0/0"].compactMap { AddressRange($0) }
        try await expectForwarded(trusted: all, forwarded: "for=_unix;proto=http", addresses: nil)
    }

    @Test func proxyOnUnixSocketIsTrustedByTheNameUnix() async throws {
        let unix = try #require(AddressRange("unix"))
        #expect(unix.contains("unix") && !unix.contains("127.0.0.1") && !unix.contains("::1"))
        try await expectForwarded(
            trusted: [unix],
            forwarded: "for=192.0.2.1, for=_unix;proto=http",
            addresses: "192.0.2.1"
        )
    }

    private func expectForwarded(trusted: [AddressRange], forwarded: String, addresses: String?) async throws {
        try await withFolder { folder in
            let path = folder + "/h.sock"
            try await withOrigin { origin in
                try await RunningGateway.with(
                    origin: origin.url,
                    configure: {
                        $0.listeners = [.unix(path: path)]
                        $0.trustedClients = trusted
                    }
                ) { _ in
                    let response = try await RawClient.with(path: path) { client in
                        try await client.send(
                            "GET / HTTP/1.1\r\nHost: g\r\nX-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n\r\n"
                        )
                        return try await client.response()
                    }
                    #expect(response.text == "a")
                    let request = try #require(origin.requests.first)
                    #expect(request.values("forwarded") == [forwarded])
                    #expect(request.values("x-forwarded-for") == (addresses.map { [$0] } ?? []))
                }
            }
        }
    }

    @Test func unixClientsCountAsOneClient() async throws {
        try await withFolder { folder in
            let path = folder + "/h.sock"
            try await withOrigin { origin in
                try await RunningGateway.with(
                    origin: origin.url,
                    configure: {
                        $0.listeners = [.unix(path: path)]
                        $0.maximumConnectionsPerClient = 1
                    }
                ) { _ in
                    try await RawClient.with(path: path) { client in
                        try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                        #expect(try await client.response().status == 200)
                        // It is refused before it sends anything.
                        let status = try await RawClient.with(path: path) { try await $0.response().status }
                        #expect(status == 503)
                    }
                }
            }
        }
    }

    // MARK: Inherited sockets

    @Test func servesConnectionsThatWaitBetweenTwoGateways() async throws {
        let socket = try ListeningDescriptor()
        let inherited = try InheritedSocket(descriptor: socket.descriptor)
        #expect(inherited.address == ListenAddress(host: "127.0.0.1", port: socket.port))
        try await withOrigin { origin in
            for _ in 0..<3 {
                try await withThrowingTaskGroup(of: String.self) { group in
                    // No process accepts them yet.
                    for _ in 0..<30 {
                        group.addTask {
                            try await RawClient.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n", to: socket.port).text
                        }
                    }
                    await socket.waitForConnections()
                    try await RunningGateway.with(
                        origin: origin.url,
                        configure: { $0.listeners = [.inherited(inherited)] }
                    ) { gateway in
                        #expect(gateway.port == socket.port)
                        for try await text in group { #expect(text == "a") }
                    }
                }
            }
        }
    }

    @Test func connectionAcceptedJustBeforeTheEndGetsItsFirstRequestServed() async throws {
        try await withOrigin { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.lateRequest = .seconds(3600) }
            ) { gateway in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let (accepted, count) = (AsyncStream<Void>.makeStream(), 30)
                    let stopping = AsyncStream<Void>.makeStream()
                    for _ in 0..<count {
                        group.addTask {
                            try await RawClient.with(port: gateway.port) { client in
                                accepted.continuation.yield()
                                // Accepted at once, and silent until the gateway stops.
                                for await _ in stopping.stream { break }
                                try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                                #expect(try await client.response().text == "a")
                                #expect(await client.read() == nil)
                            }
                        }
                    }
                    var iterator = accepted.stream.makeAsyncIterator()
                    for _ in 0..<count { await iterator.next() }
                    while gateway.server.connectionCount < count {
                        try await Task.sleep(for: .milliseconds(1))  // lets time pass
                    }
                    async let stopped: Void = gateway.server.stop()
                    while !gateway.server.isStopping {
                        try await Task.sleep(for: .milliseconds(1))  // lets time pass
                    }
                    stopping.continuation.finish()
                    try await group.waitForAll()
                    await stopped
                }
            }
        }
    }

    @Test func refusesDescriptorThatIsNoListeningStreamSocket() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let other = UnixAddress.open()
        defer { close(other) }
        for (descriptor, expected) in [(ends[0], "'ListenStream='"), (other, "'Accept=no'")] {
            let refusal = #expect(throws: InvalidSetting.self) { try InheritedSocket(descriptor: descriptor) }
            #expect(refusal?.description.contains(expected) == true)
        }
    }

    @Test func addressOfInheritedUnixSocketIsItsPath() async throws {
        try await withFolder { folder in
            let path = folder + "/i.sock"
            let descriptor = UnixAddress.listen(at: path)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            let inherited = try InheritedSocket(descriptor: descriptor)
            #expect(inherited.address.path == path && "\(inherited.address)" == "unix:\(path)")
            try await withOrigin { origin in
                try await RunningGateway.with(
                    origin: origin.url,
                    configure: { $0.listeners = [.inherited(inherited)] }
                ) { _ in
                    try await expectThirtyServed { try await get(path) }
                    #expect(origin.requests.first?.values("forwarded") == ["for=_unix;proto=http"])
                }
            }
            // It belongs to its owner.
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }
}

/// A listening socket of 127.0.0.1.
final class ListeningDescriptor: Sendable {
    let descriptor: CInt
    let port: Int

    init() throws { (descriptor, port) = try LoopbackSocket.listening(backlog: SOMAXCONN) }

    deinit { close(descriptor) }

    /// Waits until a connection waits to be accepted.
    func waitForConnections() async {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, 0) != 1 {
            try? await Task.sleep(for: .milliseconds(1))  // lets time pass
        }
    }
}
