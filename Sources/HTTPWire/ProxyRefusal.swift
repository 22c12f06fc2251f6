/// The reason why a connection to a PROXY protocol listener is closed: the label `reason` of
/// `holdfast_proxy_protocol_refusals_total`.
package enum ProxyRefusal: String, Error, CaseIterable {
    /// The connection's peer is not in `clients.trusted`.
    case untrusted
    /// The connection's first bytes are not a header.
    case missing
    case malformed
    case tooLong = "too-long"
    /// The header's checksum does not match.
    case checksum
    /// The header did not arrive in time.
    case timeout
    /// The peer closed the connection before the end of the header.
    case closed

    package var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
