/// A host and a port, to compare listeners.
struct ListenerAddress {
    private let host: Substring
    private let port: UInt16?

    /// - Parameter text: a valid address, such as `127.0.0.1:8080` or `[::]:8080`.
    init(_ text: String) {
        let text = text.lowercased()
        host = text.prefix(text.withoutPort.count)
        port = UInt16(text.dropFirst(host.count + 1))
    }

    /// Returns whether two listeners have the same port. Port 0 is a different port every time.
    func hasPort(of other: ListenerAddress) -> Bool { port == other.port && port.map { $0 > 0 } == true }

    /// Returns whether only one of two listeners could be opened. Names are not resolved. Port 0 is
    /// a different port every time.
    func collides(with other: ListenerAddress) -> Bool {
        guard let port, port > 0, port == other.port else { return false }
        return host == other.host || isWildcard(for: other) || other.isWildcard(for: self)
    }

    /// Returns whether a client of this machine reaches the listener at an address. The address of
    /// another machine may look like one of this machine, so only loopback addresses count for a
    /// wildcard.
    func isReached(at other: ListenerAddress) -> Bool {
        guard let port, port > 0, port == other.port else { return false }
        if host == other.host { return true }
        guard other.isLoopback else { return false }
        return ["0.0.0.0", "[::]"].contains(host) || isLoopback && (host == "localhost" || other.host == "localhost")
    }

    private var isLoopback: Bool { host == "localhost" || host == "[::1]" || host.hasPrefix("127.") }

    /// Returns whether the host is the address for all addresses of this machine, and the other
    /// host is one of them. `[::]` also accepts IPv4.
    private func isWildcard(for other: ListenerAddress) -> Bool {
        switch host {
        case "[::]": true
        case "0.0.0.0": other.host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        default: false
        }
    }
}
