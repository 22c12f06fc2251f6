import NIOCore
import NIOPosix

/// Refuses to connect a channel to an address that ``DestinationPolicy`` does not allow.
final class DestinationGuard: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer

    private let policy: DestinationPolicy

    init(_ policy: DestinationPolicy) { self.policy = policy }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        if let refusal = policy.refusal(of: address) {
            promise?.fail(ForbiddenDestination(refusal: refusal))
            // A socket whose connection attempt failed closes itself, but this one made none.
            return context.close(promise: nil)
        }
        context.connect(to: address, promise: promise)
    }
}

/// The error for an address that the proxy of a command does not connect to.
struct ForbiddenDestination: Error {
    let refusal: DestinationPolicy.Refusal

    init(refusal: DestinationPolicy.Refusal) { self.refusal = refusal }

    /// Returns the refusal if no address of a name was allowed.
    init?(_ error: any Error) {
        guard let error = error as? NIOConnectionError, !error.connectionErrors.isEmpty else { return nil }
        let refused = error.connectionErrors.compactMap { $0.error as? ForbiddenDestination }
        guard refused.count == error.connectionErrors.count, let first = refused.first else { return nil }
        self = first
    }

    func message(_ endpoint: String) -> String {
        switch refusal {
        case .privateNetwork, .linkLocal:
            "'\(endpoint)' has a private or link-local address, to which the proxy does not connect. '--allow-private' allows it."
        case .loopback:
            "'\(endpoint)' is this machine, to which the proxy does not connect. Give its address to the command, or use '--origin'."
        case .multicast, .noAddress: "'\(endpoint)' has an address to which no one can connect."
        }
    }
}
