import NIOCore
import NIOEmbedded
import Testing

@testable import RedisTier

/// A connection on a loop whose time a test moves.
@Suite(.timeLimit(.minutes(20))) struct RedisChannelTests {
    /// Counts what reaches the socket.
    private final class WireCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var flushes = 0
        var writes = 0

        func flush(context: ChannelHandlerContext) {
            flushes += 1
            context.flush()
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            writes += 1
            context.write(data, promise: promise)
        }
    }

    private let channel = EmbeddedChannel()
    private let counter = WireCounter()
    private let connection: RedisConnection
    private let replies = ReplyRecorder()

    init() throws {
        var settings = RedisConnectionSettings(endpoint: .unix(path: "/"))
        settings.commandCount = 20
        settings.commandBytes = 2000
        try channel.pipeline.syncOperations.addHandler(counter)
        connection = try RedisConnection(settings, on: channel)
        channel.connect(to: try SocketAddress(unixDomainSocketPath: "/"), promise: nil)
    }

    private func send(_ name: String, _ time: TimeAmount = .milliseconds(50)) throws(RedisTierError) {
        try connection.send(RedisCommand("GET", .text(name)), within: time, completion: replies.callback(name))
    }

    private func receive(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    @Test func commandsOfOneTurnAreFlushedOnce() throws {
        for name in ["a", "b", "c"] { try send(name) }
        #expect(counter.flushes == 0)
        channel.embeddedEventLoop.run()
        #expect(counter.flushes == 1 && counter.writes == 1)
        try send("d")
        channel.embeddedEventLoop.run()
        #expect(counter.flushes == 2)
    }

    @Test func commandsOfCallbacksAreFlushedBehindTheReplies() throws {
        for name in ["a", "b"] {
            let callback = replies.callback(name)
            try connection.send(RedisCommand("GET"), within: .milliseconds(50)) { [connection, replies] result in
                callback(result)
                for more in ["x", "y"] {
                    try? connection.send(
                        RedisCommand("GET"),
                        within: .seconds(1),
                        completion: replies.callback(name + more)
                    )
                }
            }
        }
        channel.embeddedEventLoop.run()
        try receive("+1\r\n+2\r\n")
        #expect(counter.flushes == 2 && counter.writes == 2)
        channel.embeddedEventLoop.run()
        #expect(counter.flushes == 2)
        try receive("+3\r\n+4\r\n+5\r\n+6\r\n")
        #expect(replies.all == ["a 1", "b 2", "ax 3", "ay 4", "bx 5", "by 6"])
    }

    @Test func lateReplyGoesToNoOtherCommand() throws {
        try send("a", .milliseconds(50))
        try send("b", .milliseconds(900))
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(50))
        #expect(replies.all == ["a timedOut"])
        try receive("+late\r\n+good\r\n")
        #expect(replies.all == ["a timedOut", "b good"])
        #expect(connection.inFlight == (0, 0))
    }

    @Test func deadlinesThatAreNotInOrderAreKept() throws {
        try send("long", .seconds(5))
        try send("short", .milliseconds(10))
        try send("middle", .milliseconds(20))
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(10))
        #expect(replies.all == ["short timedOut"])
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(10))
        #expect(replies.all == ["short timedOut", "middle timedOut"])
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(replies.all.last == "long timedOut" && channel.isActive)
    }

    @Test func stalledConnectionIsClosedWithAllThatWaits() throws {
        try send("a", .milliseconds(50))
        try send("b", .seconds(30))
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1049))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(replies.all == ["a timedOut", "b closed"])
        #expect(!channel.isActive && connection.inFlight == (0, 0))
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(replies.all.count == 2)
        #expect(throws: RedisTierError.self) { try send("c") }
    }

    @Test func commandThatIsLateAlreadyIsNotSent() throws {
        try send("a", .zero)
        channel.embeddedEventLoop.run()
        #expect(replies.all == ["a timedOut"] && counter.writes == 0 && connection.inFlight == (0, 0))
    }

    @Test func commandsInFlightAreBounded() throws {
        for number in 0..<20 { try send("\(number)") }
        #expect(rejection("more") == .busy)
        // A command whose time is over has its place until its reply comes.
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(50))
        #expect(rejection("more") == .busy)
        try receive("+1\r\n")
        try send("more")
        #expect(connection.inFlight.commands == 20)
    }

    @Test func bytesInFlightAreBounded() throws {
        let long = String(repeating: "k", count: 900)
        try send(long)
        try send(long)
        #expect(rejection(long) == .busy)
        try send("short")
        channel.embeddedEventLoop.run()
        try receive("+1\r\n")
        try send(long)
        #expect(connection.inFlight.commands == 3)
    }

    @Test(arguments: [
        ("+1\r\nHTTP/1.1 400\r\n+2\r\n", "malformed"),
        ("+1\r\n$99999999\r\n+2\r\n", "limit(RedisTier.RESPLimits.Kind.bulkLength)"),
        ("+1\r\n*1\r\n>1\r\n+x\r\n", "malformed"),
    ])
    func wrongBytesFailEveryCommandOnce(_ bytes: String, _ code: String) throws {
        for name in ["a", "b", "c"] { try send(name) }
        channel.embeddedEventLoop.run()
        try receive(bytes)
        #expect(replies.all == ["a 1", "b \(code)", "c \(code)"])
        #expect(!channel.isActive && connection.inFlight == (0, 0))
    }

    @Test func replyWithoutACommandClosesTheConnection() throws {
        try send("a")
        channel.embeddedEventLoop.run()
        try receive("+1\r\n+2\r\n")
        #expect(replies.all == ["a 1"] && !channel.isActive)
    }

    @Test func callbackMayCloseTheConnection() throws {
        try connection.send(RedisCommand("GET"), within: .seconds(1)) { [connection] _ in connection.close() }
        try send("b")
        channel.embeddedEventLoop.run()
        try receive("+1\r\n")
        channel.embeddedEventLoop.run()
        #expect(replies.all == ["b closed"] && !channel.isActive)
    }

    @Test func endIsReportedOnce() throws {
        let reports = ReplyRecorder()
        connection.whenClosed { reports.callback("end")(.failure($0)) }
        try receive("?")
        channel.embeddedEventLoop.run()
        connection.whenClosed { reports.callback("later")(.failure($0)) }
        channel.embeddedEventLoop.run()
        #expect(reports.all == ["end malformed", "later malformed"])
    }

    @Test func pushesGoTheirOwnWay() throws {
        let pushes = ReplyRecorder()
        var settings = RedisConnectionSettings(endpoint: .unix(path: "/"))
        settings.onPush = { pushes.callback("push")(.success($0.first ?? .null)) }
        let other = EmbeddedChannel()
        let connection = try RedisConnection(settings, on: other)
        other.connect(to: try SocketAddress(unixDomainSocketPath: "/"), promise: nil)
        try connection.send(RedisCommand("GET"), within: .seconds(1), completion: replies.callback("a"))
        other.embeddedEventLoop.run()
        try other.writeInbound(ByteBuffer(string: ">1\r\n+x\r\n+1\r\n>2\r\n+y\r\n_\r\n"))
        #expect(pushes.all == ["push x", "push y"] && replies.all == ["a 1"] && other.isActive)
    }

    /// The code of the error with which a command is rejected.
    private func rejection(_ name: String) -> RedisTierError.Code? {
        do throws(RedisTierError) {
            try send(name)
            return nil
        } catch {
            return error.code
        }
    }
}
