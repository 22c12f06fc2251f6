import Foundation
import HTTPCacheSemantics

/// An address where a gateway listens: a host and a port, or a Unix socket.
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name, an IP address without brackets, or the path of a Unix socket.
    public let host: String
    /// The port; 0 for any free port, and for a Unix socket.
    public let port: Int

    /// The path of a Unix socket; `nil` for a host and a port. A path that begins with `@` is an
    /// abstract name, not a file.
    public var path: String? { Self.isPath(host) ? host : nil }

    /// Whether a host is a path. No host name or IP address begins like a path.
    private static func isPath(_ host: some StringProtocol) -> Bool { host.hasPrefix("/") || host.hasPrefix("@") }

    /// Creates an address from a text.
    ///
    /// - Parameter text: `HOST:PORT`, with an IPv6 address in brackets.
    /// - Throws: `InvalidSetting` if the text is not an address.
    public init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            if text.wholeMatch(of: /.*:[0-9]{5,}/) != nil {
                throw InvalidSetting("The port of '\(text)' is too large. The limit is 65535.")
            }
            let example = "127.0.0.1:\(UInt16(text) ?? 8080)"
            throw InvalidSetting("'\(text)' is not 'HOST:PORT', such as '\(example)'. Port 0 selects a free port.")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw InvalidSetting("'\(text)' is not 'HOST:PORT'; '0.0.0.0:\(port)' listens on all addresses.")
        }
        guard !Self.isPath(host) else {
            throw InvalidSetting("'\(text)' is not 'HOST:PORT': a host cannot begin with '/' or '@'.")
        }
        self.host = String(host)
        self.port = Int(port)
    }

    /// Creates an address from its parts. The host is not checked.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Creates the address of a Unix socket.
    ///
    /// - Parameter path: a path, or an abstract name. A relative path is resolved against the
    ///   current folder, so that the address has a meaning for other processes, too.
    init(path: String) {
        host = Self.isPath(path) ? path : URL(fileURLWithPath: path).path
        port = 0
    }

    /// `host:port`, with an IPv6 address in brackets, or `unix:/path`.
    public var description: String {
        if path != nil { return "unix:\(host)" }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
