import GatewayRouting
import HoldfastConfiguration
import NIOCore
import NIOPosix

/// Refuses to connect a channel to an address that ``DestinationPolicy`` does not allow.
final class DestinationGuard: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer

    private let policy: DestinationPolicy

    init(_ policy: DestinationPolicy) { self.policy = policy }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        if let refusal = policy.refusal(of: address, own: { Self.ownAddresses }) {
            promise?.fail(ForbiddenDestination(refusal: refusal))
            // A socket whose connection attempt failed closes itself, but this one made none.
            return context.close(promise: nil)
        }
        context.connect(to: address, promise: promise)
    }

    /// The addresses of this machine's interfaces, which may change at any time; `nil` if they
    /// cannot be found out.
    private static var ownAddresses: Set<[UInt8]>? {
        guard let devices = try? System.enumerateDevices() else { return nil }
        return Set(devices.compactMap { $0.address?.ipAddress.flatMap { AddressRange.bytes(of: $0) } })
    }
}

/// The error for an address to which a proxy does not connect.
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

    /// - Parameter isNamedByCommand: whether the command of a job named the host. Otherwise, a
    ///   client of a gateway did.
    func message(_ endpoint: String, isNamedByCommand: Bool) -> String {
        switch refusal {
        case .privateNetwork, .linkLocal:
            "'\(endpoint)' has a private or link-local address, to which the proxy does not connect. '\(isNamedByCommand ? "--allow-private" : "forward-proxy.addresses")' allows it."
        case .loopback where isNamedByCommand:
            "'\(endpoint)' is this machine, to which the proxy does not connect. Give its address to the command, or use '--origin'."
        case .loopback:
            "'\(endpoint)' is this machine, to which the proxy does not connect. 'forward-proxy.addresses' allows it, or a route with this 'origin'."
        case .ownListener: "'\(endpoint)' is a listener of this gateway, to which its proxy never connects."
        case .multicast, .noAddress: "'\(endpoint)' has an address to which no one can connect."
        }
    }
}
