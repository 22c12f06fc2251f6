import HTTPCache
import NIOCore
import NIOEmbedded
import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct UpgradeOfferTests {
    private let loop = EmbeddedEventLoop()

    private func openChannel() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    @Test func connectionIsTakenOnceAndStaysOpen() throws {
        let channel = try openChannel()
        var offer: UpgradeOffer? = UpgradeOffer("websocket", on: loop)
        #expect(offer?.take() == nil)
        offer?.complete(with: channel)
        #expect(offer?.take() === channel)
        #expect(offer?.take() == nil)
        offer = nil
        #expect(channel.isActive)
    }

    @Test func closesConnectionThatComesTooLate() throws {
        let channel = try openChannel()
        let offer = UpgradeOffer("websocket", on: loop)
        offer.discard()
        offer.complete(with: channel)
        #expect(!channel.isActive)
        #expect(offer.take() == nil)
    }

    @Test func closesConnectionThatNoCallerTakes() throws {
        let channel = try openChannel()
        var offer: UpgradeOffer? = UpgradeOffer("websocket", on: loop)
        offer?.complete(with: channel)
        #expect(channel.isActive)
        offer = nil
        #expect(!channel.isActive)
    }
}
