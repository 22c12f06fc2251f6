/// The address of the client of a connection, as far as it is known.
struct ClientAddress: Sendable, Hashable {
    /// An IP address; ``GatewayClient/localName`` for a Unix socket.
    var text: String?
    /// Whether it is the client's own.
    ///
    /// A proxy that sends the PROXY protocol may name no client: it has connected for itself
    /// (`LOCAL`), or does not know the client (`UNKNOWN`, a Unix socket). The address is then the
    /// proxy's, and says through whom the bytes come, not whose they are. So it gives no right:
    /// nothing that the connection says about clients is believed, and it may not purge.
    var isOwn = true
}
