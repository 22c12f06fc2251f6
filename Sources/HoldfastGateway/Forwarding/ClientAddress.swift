/// The address of a connection's client, if known.
struct ClientAddress: Sendable, Hashable {
    /// An IP address; ``GatewayClient/localName`` for a Unix socket.
    var text: String?
    /// Whether the address is the client's own.
    ///
    /// A proxy's PROXY protocol header may name no client: the proxy connects on its own behalf
    /// (`LOCAL`), or does not know the client's address (`UNKNOWN`, a Unix socket). The address is
    /// then the proxy's, and does not say who the client is. So it grants no rights: the
    /// connection's claims about clients are not trusted, and it may not purge.
    var isOwn = true
}
