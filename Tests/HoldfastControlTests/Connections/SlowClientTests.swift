import Foundation
import LocalSockets
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import TestSupport
import Testing

@testable import HoldfastControl

/// Connections whose clients send slowly, on a loop whose time the test moves.
@Suite(.timeLimit(.minutes(20))) struct SlowClientTests {
    private func channel() throws -> (EmbeddedChannel, EmbeddedEventLoop) {
        let loop = EmbeddedEventLoop()
        let channel = EmbeddedChannel(handler: HeadDeadline(nil) { _ in false }, loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, loop)
    }

    private let head = HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"))

    @Test func connectionWithoutAHeadIsClosed() throws {
        let (channel, loop) = try channel()
        loop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func requestThatIsBeingServedIsNotClosedAndTheNextHeadHasItsTime() throws {
        let (channel, loop) = try channel()
        loop.advanceTime(by: .seconds(9))
        try channel.writeInbound(head)
        loop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        loop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test(.timeLimit(.minutes(20))) func operationEndsWhenItsClientLeavesTheSocket() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/s"
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // As the server of the control plane has it while an operation is under way.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.autoRead, value: false)
            .bind(unixDomainSocketPath: path, serverBackPressureStrategy: nil) { channel in
                channel.eventLoop.makeCompletedFuture { channel }
            }
        let client = UnixAddress.open()
        let address = try #require(UnixAddress(path))
        try #require(address.withPointer { connect(client, $0, $1) } == 0)
        await #expect(throws: CancellationError.self) {
            try await server.executeThenClose { connections in
                for try await channel in connections {
                    try await ControlContext.perform(until: channel.closeFuture) {
                        close(client)
                        // Nothing comes: only the cancellation ends it.
                        let (nothing, end) = AsyncStream<Void>.makeStream()
                        for await _ in nothing {}
                        end.finish()
                        try Task.checkCancellation()
                    }
                }
            }
        }
    }

    @Test func contentThatWasNotReadHasLittleTime() throws {
        let (channel, loop) = try channel()
        try channel.writeInbound(head)
        SlowClients.close(channel)
        loop.advanceTime(by: .seconds(4))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }
}
