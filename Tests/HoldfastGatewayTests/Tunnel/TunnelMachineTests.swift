import NIOCore
import NIOEmbedded
import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct WebSocketKeyTests {
    /// RFC 6455 §1.3.
    @Test func responseToKeyIsThatOfTheStandard() {
        #expect(WebSocketKey("dGhlIHNhbXBsZSBub25jZQ==").accept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    /// RFC 4648 §10.
    @Test func encodesBase64AsTheStandardDoes() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"]
        let coded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]
        #expect(texts.map { WebSocketKey.base64(Array($0.utf8)) } == coded)
    }

    @Test func eachKeyIsAnotherOneOf16Bytes() {
        let keys = Set((0..<32).map { _ in WebSocketKey() })
        #expect(keys.count == 32)
        #expect(keys.allSatisfy { $0.value.utf8.count == 24 && $0.value.hasSuffix("==") })
    }
}

@Suite(.timeLimit(.minutes(20))) struct TunnelTests {
    /// An end that does what the test says.
    private final class End: TunnelEnd {
        var hasRoom = true
        var untaken = 0
        var passed: [String] = []
        var readCount = 0
        var hasClosedSending = false
        var closedInOrder: Bool?

        func pass(_ bytes: ByteBuffer) { passed.append(String(buffer: bytes)) }
        func read() { readCount += 1 }
        func closeSending() { hasClosedSending = true }
        func close(isInOrder: Bool) { closedInOrder = isInOrder }
    }

    private struct Joined {
        let loop = EmbeddedEventLoop()
        let client = End()
        let origin = End()
        let summaries = Summaries()
        let tunnel: Tunnel

        init(early: String = "", late: String = "") {
            let summaries = summaries
            tunnel = Tunnel(on: loop, idleTime: .seconds(60)) { summaries.all.append($0) }
            tunnel.join(
                Tunnel.Beginning(end: client, bytes: ByteBuffer(string: early), isLast: false),
                Tunnel.Beginning(end: origin, bytes: ByteBuffer(string: late), isLast: false)
            )
        }

        var endings: [TunnelEnding] { summaries.all.map(\.ending) }
    }

    private final class Summaries { var all: [Tunnel.Summary] = [] }

    @Test func readsSideOnlyWhileTheOtherHasRoom() {
        let joined = Joined()
        #expect(joined.client.readCount == 1)
        #expect(joined.origin.readCount == 1)
        joined.client.hasRoom = false
        joined.tunnel.receive(ByteBuffer(string: "a"), from: .origin)
        #expect(joined.client.passed == ["a"])
        #expect(joined.origin.readCount == 1)
        // The other direction continues.
        joined.tunnel.receive(ByteBuffer(string: "b"), from: .client)
        #expect(joined.client.readCount == 2)
        joined.tunnel.makeRoom(at: .origin)
        #expect(joined.origin.readCount == 1)
        joined.client.hasRoom = true
        joined.tunnel.makeRoom(at: .client)
        joined.tunnel.makeRoom(at: .client)
        #expect(joined.origin.readCount == 2)
        #expect(joined.origin.passed == ["b"])
    }

    @Test func earlierBytesOfTheSidesComeFirst() {
        let joined = Joined(early: "early", late: "first")
        joined.tunnel.receive(ByteBuffer(string: "next"), from: .client)
        #expect(joined.origin.passed == ["early", "next"])
        #expect(joined.client.passed == ["first"])
        #expect(joined.client.readCount == 2)
    }

    @Test func halfClosedSideStillReadsUntilTheOtherEnds() {
        let joined = Joined()
        joined.tunnel.closeInput(of: .client)
        #expect(joined.origin.hasClosedSending)
        #expect(!joined.client.hasClosedSending)
        joined.tunnel.receive(ByteBuffer(string: "late"), from: .client)
        #expect(joined.origin.passed.isEmpty)
        joined.tunnel.receive(ByteBuffer(string: "bye"), from: .origin)
        #expect(joined.client.passed == ["bye"])
        #expect(joined.endings.isEmpty)
        joined.tunnel.closeInput(of: .origin)
        #expect(joined.endings == [.closed])
        #expect(joined.client.closedInOrder == true)
        #expect(joined.origin.closedInOrder == true)
        #expect(joined.summaries.all.map(\.originBytes) == [3])
        #expect(joined.summaries.all.map(\.clientBytes) == [0])
    }

    @Test(arguments: TunnelMachine.Side.allCases) func sideThatIsGoneEndsTheTunnelOnce(side: TunnelMachine.Side) {
        let joined = Joined()
        joined.tunnel.lose(side, hasFailed: false)
        joined.tunnel.lose(side.other, hasFailed: false)
        joined.tunnel.endFromOutside()
        #expect(joined.endings == [side == .client ? .clientAborted : .originAborted])
        #expect((side == .client ? joined.origin : joined.client).closedInOrder == false)
        let other = Joined()
        other.tunnel.closeInput(of: side)
        other.tunnel.lose(side, hasFailed: true)
        #expect(other.endings == [.closed])
        // Nothing was left to be sent to it.
        for hasFailed in [false, true] {
            let last = Joined()
            last.tunnel.closeInput(of: side.other)
            last.tunnel.lose(side, hasFailed: hasFailed)
            #expect(last.endings == [hasFailed ? joined.endings[0] : .closed])
        }
    }

    @Test func endsWhenNoBytePassesUnlessWrittenBytesAreTaken() {
        var machine = TunnelMachine()
        func passTime(_ untaken: Int) -> TunnelEnding? {
            if case .close(let ending) = machine.passTime(untaken: untaken) { ending } else { nil }
        }
        for left in [100, 99, 10] { #expect(passTime(left) == nil) }
        _ = machine.receive(1, from: .client)
        for left in [500, 10] { #expect(passTime(left) == nil) }
        #expect(passTime(10) == .idle)
        #expect(machine.isOver)
        #expect(passTime(1) == nil)
        machine = TunnelMachine()
        #expect(passTime(0) == .idle)
    }

    @Test func openTunnelIsDrainedWhenItsTimeIsOver() {
        let joined = Joined()
        joined.tunnel.drain()
        joined.tunnel.receive(ByteBuffer(string: "a"), from: .client)
        #expect(joined.origin.passed == ["a"])
        joined.tunnel.endFromOutside()
        #expect(joined.endings == [.drained])
    }
}
