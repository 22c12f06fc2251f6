import CacheRules
import HTTPCacheSemantics

/// The targets to which a route leads: scheme, host, port and the beginning of the path.
struct RouteTargets: Hashable {
    private let isHTTPS: Bool
    /// The host; `nil` for any host. It may begin with `*.`, for one label.
    private let host: String?
    /// The port; `nil` for any port.
    private let port: UInt16?
    private let base: PathPrefix

    /// - Returns: `nil` if the route's origin is not valid, which another finding says.
    init?(_ route: Configuration.Route) {
        guard let target = try? TargetURI(route.origin) else { return nil }
        isHTTPS = target.scheme == "https"
        base = PathPrefix(target.path)
        if route.preservesHost {
            // Targets have the client's host instead of the origin's. Without a port in the route's
            // host, the port of a listener is possible.
            let requested = route.host?.lowercased()
            let named = requested.flatMap { $0.hasPort ? UInt16($0.dropFirst($0.withoutPort.count + 1)) : nil }
            host = requested?.withoutPort
            // A client that names no port means 80, and its target has no port.
            port = named == 80 ? (isHTTPS ? 443 : 80) : named
        } else {
            host = target.host
            port = target.port
        }
    }

    private init(isHTTPS: Bool, host: String) {
        (self.isHTTPS, self.host, port) = (isHTTPS, host, nil)
        base = PathPrefix("/")
    }

    /// Returns the targets to which a forward proxy leads at a host.
    static func ofProxy(_ host: Configuration.ForwardProxy.Host) -> [RouteTargets] {
        [true, false].map { RouteTargets(isHTTPS: $0, host: host.name) }
    }

    /// The scheme, the host and the path, as a pattern without its end: `http://*.example.com/v2`.
    var url: String {
        let number = port.flatMap { $0 == (isHTTPS ? 443 : 80) ? nil : ":\($0)" } ?? ""
        return "\(isHTTPS ? "https" : "http")://\(host ?? "**")\(number)\(base.text)"
    }

    /// Returns whether a pattern matches some of the targets.
    func areReached(by pattern: CompiledPattern) -> Bool {
        haveOrigin(of: pattern) && pattern.path.matchesSome(startingWith: base.normalForm)
    }

    /// Returns whether a pattern matches scheme, host and port of some of the targets.
    func haveOrigin(of pattern: CompiledPattern) -> Bool {
        guard let ports = isHTTPS ? pattern.https : pattern.http else { return false }
        if let port, !ports.covers(.number(port)) { return false }
        guard let host else { return true }
        guard host.hasPrefix("*.") else { return pattern.host.matches(Array(host.utf8)) }
        // Two patterns that may match the same host are not compared.
        return pattern.host.hasStar
            || Configuration.Route.host(host, covers: String(decoding: pattern.host.prefix, as: UTF8.self))
    }
}

extension Glob {
    /// Returns whether the glob of a path matches some path that is `base`, or that begins with
    /// `base` and a slash.
    func matchesSome(startingWith base: [UInt8]) -> Bool {
        // Most patterns differ from the base in their literal beginning, or continue it.
        guard zip(prefix, base).allSatisfy({ $0 == $1 }) else { return false }
        var reached: Set<Int> = [0]
        for byte in base {
            reached = positions(after: byte, reached)
            if reached.isEmpty { return false }
        }
        if behindStars(reached).contains(tokens.count) { return true }
        // The rest of the pattern matches some rest of a path.
        return !positions(after: UInt8(ascii: "/"), reached).isEmpty
    }

    private func positions(after byte: UInt8, _ reached: Set<Int>) -> Set<Int> {
        var next: Set<Int> = []
        for position in behindStars(reached) where position < tokens.count {
            switch tokens[position] {
            case .byte(let literal): if literal == byte { next.insert(position + 1) }
            case .one: if byte != separator { next.insert(position) }
            case .many: next.insert(position)
            }
        }
        return next
    }

    /// Adds the positions after stars, because a star may match zero bytes.
    private func behindStars(_ reached: Set<Int>) -> Set<Int> {
        var result = reached
        for position in reached {
            var next = position
            while next < tokens.count, !tokens[next].isByte {
                next += 1
                result.insert(next)
            }
        }
        return result
    }
}
