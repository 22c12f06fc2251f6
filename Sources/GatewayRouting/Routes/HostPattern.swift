import HTTPCacheSemantics
import HTTPWire

/// The hosts that a route matches.
package struct HostPattern: Sendable, Hashable {
    /// The names, in lowercase.
    package enum Name: Sendable, Hashable {
        /// Exactly this name.
        case exact(String)
        /// All names with one more label before this name.
        case label(before: String)
        /// Any name or none, because HTTP/1.0 has requests without a host.
        case any
    }

    package let name: Name
    /// `nil` matches any port.
    package let port: UInt16?

    static let any = HostPattern(name: .any, port: nil)

    init(name: Name, port: UInt16?) {
        self.name = name
        self.port = port
    }

    /// - Parameter text: a host; with a port, only that port matches. `*.example.com` matches all
    ///   hosts with one more label.
    init?(_ text: String) {
        let isLabel = text.hasPrefix("*.")
        let authority = isLabel ? String(text.dropFirst(2)) : text
        guard !authority.contains(where: { "/?#".contains($0) }), let target = try? TargetURI("http://\(authority)/"),
            !isLabel || !target.host.hasPrefix("[")
        else { return nil }
        name = isLabel ? .label(before: target.host) : .exact(target.host)
        port = RequestedHost(authority)?.port
    }

    /// Whether the pattern matches the host of a target that preserves the client's host.
    func includes(_ target: TargetURI) -> Bool {
        switch name {
        case .exact(let host): guard target.host == host else { return false }
        case .label(let parent):
            guard target.host.hasSuffix("." + parent),
                !target.host.dropLast(parent.utf8.count + 1).contains("."),
                target.host.utf8.count > parent.utf8.count + 1
            else { return false }
        case .any: break
        }
        // A client that names no port means 80. Its request to an https origin then has port 443.
        return port == nil || port == target.port || port == 80 && target.port == (target.scheme == "https" ? 443 : 80)
    }

    /// Whether the pattern matches requests to a port.
    ///
    /// - Parameter standard: the port of requests that name none.
    func includes(port requested: UInt16?, standard: UInt16) -> Bool {
        port == nil || (port ?? standard) == (requested ?? standard)
    }
}
