/// The address of a connection's client, if known.
struct ClientAddress: Sendable, Hashable {
    /// An IP address; ``GatewayClient/localName`` for a Unix socket.
    var text: String?
    /// Whether the address is the client's own.
    ///
    /// A proxy that sends the PROXY protocol may name no client: it has connected for itself
    /// (`LOCAL`), or does not know the client (`UNKNOWN`, a Unix socket). The address is then the
    /// proxy's, which tells who sent the bytes, not whose they are. So it grants no rights: nothing
    /// that the connection states about clients is believed, and it may not purge.
    var isOwn = true
}
