import HTTPTypes
import HoldfastTesting
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HoldfastControl

/// The places of a listener: which connection makes room for a new one.
@Suite(.timeLimit(.minutes(20))) struct ConnectionPermitsTests {
    private final class Name {}

    private let attacker = ClientNetwork("192.0.2.1")
    private let other = ClientNetwork("192.0.2.2")

    @Test func newStrangerTakesThePlaceOfTheOneThatHasWaitedLongest() {
        var permits = ConnectionPermits(limit: 4, strangerLimit: 30)
        let names = (0..<60).map { _ in Name() }
        for (number, name) in names.enumerated() {
            #expect(permits.isAccepting)
            let closed = permits.admit(ObjectIdentifier(name), of: attacker)
            #expect(closed == (number < 30 ? nil : ObjectIdentifier(names[number - 30])))
        }
    }

    /// Whatever the client with the most does, it takes places from itself alone.
    @Test func clientTakesNoPlaceOfOneThatHasFewer() {
        var permits = ConnectionPermits(limit: 4, strangerLimit: 30)
        let (mine, theirs) = ((0..<500).map { _ in Name() }, (0..<15).map { _ in Name() })
        for name in theirs { #expect(permits.admit(ObjectIdentifier(name), of: other) == nil) }
        let closed = mine.compactMap { permits.admit(ObjectIdentifier($0), of: attacker) }
        #expect(closed == mine.dropLast(15).map { ObjectIdentifier($0) })
        // And one with fewer always finds a place.
        let late = ClientNetwork("192.0.2.3")
        let names = (0..<10).map { _ in Name() }
        for name in names {
            let closed = permits.admit(ObjectIdentifier(name), of: late)
            #expect(closed != nil && !names.contains { ObjectIdentifier($0) == closed })
        }
    }

    /// A model: a seeded history of clients that connect, log in and leave.
    @Test func noOpenedRequestMakesRoomAndNoPlaceIsLost() {
        var random = SeededRandom(seed: 1)
        var permits = ConnectionPermits(limit: 8, strangerLimit: 8)
        let clients = (0..<4).map { ClientNetwork("192.0.2.\($0)") }
        var (strangers, opened): ([(name: Name, client: ClientNetwork)], [Name]) = ([], [])
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                guard permits.isAccepting else { continue }
                let (name, client) = (Name(), clients[Int.random(in: 0..<4, using: &random)])
                strangers.append((name, client))
                if let closed = permits.admit(ObjectIdentifier(name), of: client) {
                    let index = strangers.firstIndex { ObjectIdentifier($0.name) == closed }
                    #expect(index != nil, "it closes strangers alone")
                    guard let index else { return }
                    let gone = strangers.remove(at: index)
                    #expect(ObjectIdentifier(gone.name) != ObjectIdentifier(name))
                    // The client that lost a place had the most.
                    let rest = strangers.count { $0.client == gone.client } + 1
                    #expect(clients.allSatisfy { each in strangers.count { $0.client == each } <= rest })
                }
            case 2:
                guard let index = strangers.indices.randomElement(using: &random), permits.isAccepting else { continue }
                opened.append(strangers.remove(at: index).name)
                permits.open(ObjectIdentifier(opened[opened.count - 1]))
            case 3:
                guard let index = opened.indices.randomElement(using: &random) else { continue }
                permits.remove(ObjectIdentifier(opened.remove(at: index)))
            default:
                guard let index = strangers.indices.randomElement(using: &random) else { continue }
                permits.remove(ObjectIdentifier(strangers.remove(at: index).name))
            }
            #expect(strangers.count <= 8 && permits.isAccepting == (opened.count < 8))
        }
    }

    // MARK: Connections

    private func head(_ token: String?) -> HTTPServerRequestPart {
        let fields = token.map { [("authorization", $0)] } ?? []
        return .head(HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: HTTPHeaders(fields)))
    }

    private func connection(_ admission: ConnectionAdmission, _ loop: EmbeddedEventLoop) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: HeadDeadline(admission) { $0 == ["right"] }, loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// A log-in without its content, a request with a wrong token, one without: none of them keeps
    /// another client out, and none of them ends a request that a token opens.
    @Test(arguments: [nil, "wrong"]) func halfFinishedRequestsWithoutATokenKeepNoOneOut(_ token: String?) throws {
        let loop = EmbeddedEventLoop()
        let admission = ConnectionAdmission(limit: 30, strangerLimit: 30)
        let operated = try connection(admission, loop)
        try operated.writeInbound(head("right"))
        let stalled = try (0..<300).map { _ in
            #expect(admission.isAcceptingNewConnections())
            let channel = try connection(admission, loop)
            try channel.writeInbound(head(token))
            return channel
        }
        #expect(admission.isAcceptingNewConnections())
        let late = try connection(admission, loop)
        try late.writeInbound(head("right"))
        #expect(late.isActive && operated.isActive)
        #expect(stalled.count { $0.isActive } == 29)
    }

    @Test func requestUnderWayKeepsItsPlaceToTheEndOfItsResponse() throws {
        let loop = EmbeddedEventLoop()
        let admission = ConnectionAdmission(limit: 30, strangerLimit: 1)
        let channel = try connection(admission, loop)
        try channel.writeInbound(head("right"))
        let second = try connection(admission, loop)
        #expect(channel.isActive)
        // A stream of events has written something and continues.
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "data"))))
        let third = try connection(admission, loop)
        #expect(channel.isActive && !second.isActive && third.isActive)
        // A second request has come before the end of the first one's response.
        try channel.writeInbound(head("right"))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        let fourth = try connection(admission, loop)
        #expect(channel.isActive && !third.isActive && fourth.isActive)
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        #expect(channel.isActive && !fourth.isActive, "it waits now, and is the newest that does")
        let last = try connection(admission, loop)
        #expect(!channel.isActive && last.isActive)
    }

    @Test func listenerAcceptsAgainWhenAPlaceIsFree() throws {
        let loop = EmbeddedEventLoop()
        let reads = ReadCounter()
        let listener = EmbeddedChannel(handler: reads, loop: loop)
        let admission = ConnectionAdmission(limit: 2, strangerLimit: 2)
        admission.listens(on: listener)
        let channels = try (0..<2).map { _ in
            let channel = try connection(admission, loop)
            try channel.writeInbound(head("right"))
            return channel
        }
        #expect(!admission.isAcceptingNewConnections())
        loop.advanceTime(by: .hours(1))
        #expect(reads.count == 0, "both have requests under way")
        try channels[0].writeOutbound(HTTPServerResponsePart.end(nil))
        #expect(reads.count == 1 && admission.isAcceptingNewConnections())
        try channels[0].writeInbound(head("right"))
        #expect(!admission.isAcceptingNewConnections())
        channels[1].close(promise: nil)
        #expect(reads.count == 2 && admission.isAcceptingNewConnections())
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
