import NIOCore
import NIOEmbedded
import Testing

@testable import HoldfastControl

/// The places of a listener, with a time that the test names.
@Suite(.timeLimit(.minutes(20))) struct ConnectionPlacesTests {
    private final class Name {}

    private static let start = NIODeadline.uptimeNanoseconds(0)
    private static let grace = SlowClients.grace

    /// Places that are all taken by connections that wait, one of them since each second.
    private func full(_ limit: Int) -> (places: ConnectionPlaces, names: [Name]) {
        var places = ConnectionPlaces(limit: limit)
        let names = (0..<limit).map { _ in Name() }
        for (number, name) in names.enumerated() {
            let now = Self.start + .seconds(Int64(number))
            _ = places.accept(at: now)
            places.beginWaiting(ObjectIdentifier(name), at: now)
        }
        return (places, names)
    }

    @Test func newConnectionTakesThePlaceOfTheOneThatHasWaitedLongest() {
        var (places, names) = full(30)
        let now = Self.start + .hours(1)
        for name in names {
            #expect(places.admission(at: now) == .accept)
            let closed = places.accept(at: now)
            #expect(closed == ObjectIdentifier(name))
            places.close()
        }
        #expect(places.admission(at: now) == .wait(until: nil), "the new ones do not wait yet")
    }

    @Test func nothingIsClosedWhileThereAreFreePlaces() {
        var places = ConnectionPlaces(limit: 30)
        let name = Name()
        for number in 0..<30 {
            #expect(places.admission(at: Self.start + .hours(1)) == .accept)
            let closed = places.accept(at: Self.start + .hours(1))
            #expect(closed == nil)
            if number == 0 { places.beginWaiting(ObjectIdentifier(name), at: Self.start) }
        }
    }

    @Test func clientHasAMomentBeforeItLosesItsPlace() {
        var (places, names) = full(2)
        let end = Self.start + Self.grace
        let before = end - .nanoseconds(1)
        #expect(places.admission(at: before) == .wait(until: end))
        // The listener accepts several at a time, so one may come nevertheless.
        let early = places.accept(at: before)
        #expect(early == nil)
        #expect(places.admission(at: end) == .accept)
        let due = places.accept(at: end)
        #expect(due == ObjectIdentifier(names[0]))
        // The other one began to wait a second later.
        #expect(places.admission(at: end) == .wait(until: end + .seconds(1)))
        withExtendedLifetime(names) {}
    }

    @Test func requestUnderWayKeepsItsPlace() throws {
        let loop = EmbeddedEventLoop()
        let admission = ConnectionAdmission(limit: 2) { loop.now }
        let channels = try (0..<2).map { _ in
            admission.connectionOpened()
            let channel = EmbeddedChannel(handler: HeadDeadline(limit: .hours(2), admission), loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            return channel
        }
        try channels[0].writeInbound("head")
        loop.advanceTime(by: .hours(1))
        #expect(admission.isAcceptingNewConnections())
        admission.connectionOpened()
        #expect(channels.map(\.isActive) == [true, false], "the one that waits makes room")
        admission.connectionClosed()
        #expect(!admission.isAcceptingNewConnections(), "the others have requests under way, or came just now")
        // With its response the first one waits again, and has a moment for the next head.
        try channels[0].writeOutbound("response")
        #expect(!admission.isAcceptingNewConnections())
        loop.advanceTime(by: SlowClients.grace)
        #expect(admission.isAcceptingNewConnections())
        admission.connectionOpened()
        #expect(!channels[0].isActive)
    }

    @Test func listenerLooksAgainWhenAPlaceIsDue() throws {
        let loop = EmbeddedEventLoop()
        let reads = ReadCounter()
        let listener = EmbeddedChannel(handler: reads, loop: loop)
        let admission = ConnectionAdmission(limit: 1) { loop.now }
        admission.listens(on: listener)
        admission.connectionOpened()
        let channel = EmbeddedChannel(handler: HeadDeadline(limit: .hours(2), admission), loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound("head")
        #expect(!admission.isAcceptingNewConnections())
        loop.advanceTime(by: .hours(1))
        #expect(reads.count == 0, "a request is under way")
        try channel.writeOutbound("response")
        loop.advanceTime(by: SlowClients.grace - .nanoseconds(1))
        #expect(reads.count == 0)
        loop.advanceTime(by: .nanoseconds(1))
        #expect(reads.count == 1)
        #expect(admission.isAcceptingNewConnections())
    }
}

/// Counts how often a channel is asked to read.
private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny
    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}
