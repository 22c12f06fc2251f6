import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway

extension ListeningAddresses {
    /// Chooses the addresses that `holdfast try` can use best: without a PROXY protocol header, and
    /// with a port.
    init(_ places: [(address: ListenAddress, listener: GatewayListener)]) {
        func best(hasTLS: Bool) -> String? {
            places.filter { ($0.listener.tls != nil) == hasTLS }
                .min { Self.rank($0) < Self.rank($1) }
                .map { "\($0.address)" }
        }
        self.init(plain: best(hasTLS: false), tls: best(hasTLS: true))
    }

    private static func rank(_ place: (address: ListenAddress, listener: GatewayListener)) -> Int {
        (place.listener.expectsProxyHeader ? 2 : 0) + (place.address.path == nil ? 0 : 1)
    }
}
