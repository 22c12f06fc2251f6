/// The address on which a gateway listens: a host and a port.
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name or an IP address, without brackets.
    public let host: String
    /// The port; 0 for any free one.
    public let port: Int

    /// Why a text is not an address.
    public struct Refusal: Error, Sendable, CustomStringConvertible {
        /// A sentence that names the text and states what is expected.
        public let description: String
    }

    /// - Parameter text: `HOST:PORT`, an IPv6 address in brackets.
    /// - Throws: ``Refusal`` if the text is not an address.
    public init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw Refusal(description: "'\(text)' is not 'HOST:PORT'. Port 0 takes a free one.")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw Refusal(description: "'\(text)' is not 'HOST:PORT'; '0.0.0.0:\(port)' listens on all addresses.")
        }
        self.host = String(host)
        self.port = Int(port)
    }

    /// An address from its parts. The host is not checked.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// `host:port`, an IPv6 address in brackets.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
