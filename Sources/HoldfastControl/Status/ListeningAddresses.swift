/// The addresses on which a gateway's clients can connect, one for each kind of connection.
package struct ListeningAddresses: Sendable, Hashable {
    /// The address for clients without TLS: a host and port, or `unix:` and a path. If every
    /// listener has TLS, the address of one of them, after `https://`.
    package var address: String?
    /// The address for clients with TLS, without a scheme; `nil` if no listener has TLS.
    package var addressWithTLS: String?

    /// - Parameters:
    ///   - plain: the address of a listener without TLS, if there is one.
    ///   - tls: the address of a listener with TLS, if there is one.
    package init(plain: String? = nil, tls: String? = nil) {
        address = plain ?? tls.map { "https://\($0)" }
        addressWithTLS = tls
    }
}
