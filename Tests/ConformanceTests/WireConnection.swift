import HoldfastGateway
import NIOCore
import NIOPosix

/// A client's connection to the gateway, and the bytes that it received.
struct WireConnection: Sendable {
    let channel: any Channel
    let inbox: ByteInbox

    static func open(_ address: ListenAddress) async throws -> WireConnection {
        let inbox = ByteInbox()
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(.hours(1))
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
                }
            }
            .connect(host: address.host, port: address.port)
            .get()
        return WireConnection(channel: channel, inbox: inbox)
    }
}
