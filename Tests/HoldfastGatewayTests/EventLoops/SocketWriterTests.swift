import HTTPCache
import HoldfastTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import EventLoops
@testable import HoldfastGateway

/// All bytes arrive in their order, whether the system takes them at once, a part of them, or none
/// for a while.
@Suite(.timeLimit(.minutes(20))) struct SocketWriterTests {
    /// Mutants: the part of a piece that the system took is written again; new bytes overtake those
    /// that the channel still has; a second flush writes the first one's bytes once more.
    @Test(arguments: [true, false], 0..<3) func allBytesArriveInOrder(isDirect: Bool, seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var flushes: [[ByteBuffer]] = []
        var expected: [UInt8] = []
        // More than a socket takes at once, in flushes of few pieces and of many.
        while expected.count < 1 << 20 {
            var pieces: [ByteBuffer] = []
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let count =
                    Int.random(in: 0..<4, using: &random) == 0 ? 60_000 : Int.random(in: 0...3_000, using: &random)
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: expected.count &+ $0 &* 31) }
                expected += bytes
                pieces.append(ByteBuffer(bytes: bytes))
            }
            flushes.append(pieces)
        }
        let sent = flushes
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.socketOption(.so_sndbuf), value: 16 << 10)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(WritingHandler(sent, isDirect: isDirect))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await RawClient.with(port: port) { client in
            // It starts to write with the first byte. The bytes that the client does not read stay
            // in the system and the channel.
            try await client.send("x")
            let received = await client.readToEnd()
            #expect(received.count == expected.count)
            #expect(received == expected)
        }
        try await server.close()
    }

    /// The channel gets bytes that the system takes at once only where the writer is turned off.
    @Test func bytesPassTheChannelOnlyWhenSwitchedOff() async throws {
        let passed = Mutex(0)
        let flushes = (0..<30).map { [ByteBuffer(string: "piece \($0)"), ByteBuffer(string: ".")] }
        let expected = flushes.flatMap { $0 }.flatMap { Array($0.readableBytesView) }
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let counting = CountingHandler { count in passed.withLock { $0 += count } }
                    let writing = WritingHandler(flushes, isDirect: true)
                    try channel.pipeline.syncOperations.addHandlers(counting, writing)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await RawClient.with(port: port) { client in
            try await client.send("x")
            #expect(await client.readToEnd() == expected)
        }
        #expect(passed.withLock { $0 } == (EnvironmentSwitch.socketWriter.isOn ? 0 : expected.count))
        try await server.close()
    }

    /// The channel has written the first of the pieces left to it, but not the second. Mutant: the
    /// third piece is then sent by itself.
    @Test func newBytesDoNotOvertakeTheChannelsBytes() async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.socketOption(.so_sndbuf), value: 16 << 10)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let holding = HoldingHandler()
                    try channel.pipeline.syncOperations.addHandlers(holding, OvertakingHandler(holding))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await RawClient.with(port: port) { client in
            try await client.send("x")
            let received = await client.readToEnd()
            #expect(received.count == OvertakingHandler.large + 2)
            #expect(received.suffix(2) == Array("23".utf8))
        }
        try await server.close()
    }

    /// Mutants: a signal instead of an error; a closed connection that is noticed while writing and
    /// not reported.
    @Test func channelNoticesClosedConnection() async throws {
        let ended = Mutex(false)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        EndlessHandler { ended.withLock { $0 = true } }
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await RawClient.with(port: port) { client in await client.reset() }
        while !ended.withLock({ $0 }) {
            try Task.checkCancellation()
            await Task.yield()
        }
        try await server.close()
    }
}

/// Writes several flushes of pieces, one in each round of the loop, and closes when all are sent.
private final class WritingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let flushes: [[ByteBuffer]]
    private let isDirect: Bool
    private let writer = SocketWriter()
    private var next = 0

    init(_ flushes: [[ByteBuffer]], isDirect: Bool) {
        self.flushes = flushes
        self.isDirect = isDirect
    }

    func handlerAdded(context: ChannelHandlerContext) { writer.open(context.channel, isDirect: isDirect) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { step(context) }

    private func step(_ context: ChannelHandlerContext) {
        guard next < flushes.count else {
            let taken = context.eventLoop.makePromise(of: Void.self)
            taken.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
            return context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: taken)
        }
        for piece in flushes[next] { writer.put(piece) }
        next += 1
        writer.flush(context)
        writer.flush(context)
        context.eventLoop.assumeIsolated().execute { self.step(context) }
    }
}

/// Counts the bytes that pass the channel.
private final class CountingHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private let count: (Int) -> Void

    init(_ count: @escaping (Int) -> Void) { self.count = count }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        count(unwrapOutboundIn(data).readableBytes)
        context.write(data, promise: promise)
    }
}

/// Holds writes back until it is released.
private final class HoldingHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private var held: [(bytes: NIOAny, promise: EventLoopPromise<Void>?)] = []
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        held.append((data, promise))
    }

    func flush(context: ChannelHandlerContext) {}

    /// - Returns: a future that completes when the last byte is written.
    func letGo(_ count: Int) -> EventLoopFuture<Void>? {
        guard let context else { return nil }
        var last: EventLoopFuture<Void>?
        for (bytes, promise) in held.prefix(count) {
            context.writeAndFlush(bytes, promise: promise)
            last = promise?.futureResult
        }
        held.removeFirst(count)
        return last
    }

    var count: Int { held.count }
}

/// Writes three times: first more than the system takes, and then twice a few bytes.
private final class OvertakingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    static let large = 1 << 20

    private let holding: HoldingHandler
    private let writer = SocketWriter()

    init(_ holding: HoldingHandler) { self.holding = holding }

    func handlerAdded(context: ChannelHandlerContext) { writer.open(context.channel) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        writer.put(ByteBuffer(repeating: UInt8(ascii: "1"), count: Self.large))
        writer.flush(context)
        writer.put(ByteBuffer(string: "2"))
        writer.flush(context)
        guard holding.count == 2 else { return context.close(promise: nil) }
        holding.letGo(1)?.assumeIsolated().whenSuccess {
            // After the other actions that wait for the first.
            context.eventLoop.assumeIsolated().execute {
                self.writer.put(ByteBuffer(string: "3"))
                self.writer.flush(context)
                self.holding.letGo(self.holding.count)?.assumeIsolated().whenSuccess { context.close(promise: nil) }
            }
        }
    }
}

/// Writes until the connection ends.
private final class EndlessHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let writer = SocketWriter()
    private let ended: () -> Void
    private var isEnded = false

    init(_ ended: @escaping () -> Void) { self.ended = ended }

    func channelActive(context: ChannelHandlerContext) {
        writer.open(context.channel)
        step(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isEnded = true
        ended()
    }

    private func step(_ context: ChannelHandlerContext) {
        guard !isEnded else { return }
        // No more than the channel accepts: it would keep everything.
        if context.channel.isWritable {
            writer.put(ByteBuffer(string: "bytes"))
            writer.flush(context)
        }
        // After a moment, because a loop polls its sockets only when no task is due: a full socket
        // would never become writable, and its end never be seen.
        context.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(100)) {  // lets time pass
            self.step(context)
        }
    }
}
