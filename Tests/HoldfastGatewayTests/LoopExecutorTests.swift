import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import HoldfastGateway

@Suite("Tasks on a loop")
struct LoopExecutorTests {
    /// Notes that something was read.
    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let hasRead = Atomic(false)
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { hasRead.store(true, ordering: .releasing) }
    }

    /// Mutant: `runJobs` that goes on with `eventLoop.execute`.
    @Test("However much there is to run, the loop looks at its sockets") func leavesTurns() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let executor = LoopExecutor(group.next())
        let reader = Reader()
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { $0.pipeline.addHandler(reader) }
            .bind(host: "127.0.0.1", port: 0).get()
        let client = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(to: try #require(server.localAddress)).get()
        let isSent = Flag()
        let isRead = Task(executorPreference: executor) {
            // There is something to run all the time.
            while !isSent.value.load(ordering: .acquiring) { await Task.yield() }
            for _ in 0..<200_000 where !reader.hasRead.load(ordering: .acquiring) { await Task.yield() }
            return reader.hasRead.load(ordering: .acquiring)
        }
        try await client.writeAndFlush(ByteBuffer(string: "a"))
        isSent.value.store(true, ordering: .releasing)
        #expect(await isRead.value)
        try await client.close()
        try await server.close()
        try await group.shutdownGracefully()
    }

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    /// Mutant: `didCancelScheduledCallback` that does nothing.
    @Test("What is left when the loop shuts down is run", .timeLimit(.minutes(1))) func runsTheRest() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let executor = LoopExecutor(group.next())
        let hasBegun = Flag()
        let task = Task(executorPreference: executor) {
            hasBegun.value.store(true, ordering: .releasing)
            for _ in 0..<50_000 { await Task.yield() }
            return true
        }
        while !hasBegun.value.load(ordering: .acquiring) { await Task.yield() }
        try await group.shutdownGracefully()
        #expect(await task.value)
    }
}
