import HTTPCacheSemantics
import HTTPWire

/// Checks whether a replacement URL leads to the right place. As for a request, the routes decide
/// by the complete path.
extension RewriteClient {
    /// Whether this client's request for a path below its route's path takes that route.
    func leads(before rest: [UInt8]) -> Bool { leads(requested, route.prefix.text, before: rest, to: routeIndex) }

    /// Whether a cookie with this path is sent with requests for another origin's route, and with
    /// none for this route. A cookie with a wider path, such as `/`, is also for this route.
    func leadsToAnotherOrigin(cookiePath path: String) -> Bool {
        let wide = path.hasSuffix("/") ? path : path + "/"
        guard path.hasPrefix("/"), !(route.prefix.text + "/").hasPrefix(wide),
            let choice = map.routes.choose(host: requested, target: path)
        else { return false }
        return map.routes.routes[choice.route].endpoint != route.endpoint
    }

    func leads(_ base: Base, before rest: [UInt8] = [], to index: Int) -> Bool {
        leads(RequestedHost(base.authority), base.path, before: rest, to: index)
    }

    /// Whether a request for a URL takes a route, or another route to the same target. An earlier
    /// route may match the request.
    private func leads(_ host: RequestedHost?, _ path: String, before rest: [UInt8], to index: Int) -> Bool {
        Self.readings(of: rest).allSatisfy { rest in
            let path = path + String(decoding: rest, as: UTF8.self)
            let target = path.hasPrefix("/") ? path : "/" + path
            guard let choice = map.routes.choose(host: host, target: target) else { return false }
            let (mine, other) = (map.routes.routes[index], map.routes.routes[choice.route])
            return choice.route == index || mine.endpoint == other.endpoint && mine.path(for: target) == choice.path
        }
    }

    /// Whether a dot segment may escape the path that is prepended. Clients resolve dot segments
    /// before sending a request, and the gateway rejects them.
    ///
    /// - Parameter pathsCount: whether paths matter even if no route has one.
    func leaves(_ path: [UInt8], pathsCount: Bool) -> Bool {
        var path = path.withoutLast { ",;:!)]'".utf8.contains($0) }
        // The dot is the end of a sentence, or the path without it names the same resource.
        if path.suffix(2).elementsEqual("/.".utf8) { path.removeLast() }
        return map.routes.refuseDotSegments(of: String(decoding: path, as: UTF8.self), rulesHavePaths: pathsCount)
    }

    /// Returns the paths that clients may read in a path. Punctuation at its end may belong to a
    /// sentence, and browsers read a backslash as a slash.
    private static func readings(of path: [UInt8]) -> [[UInt8]] {
        var readings = [path]
        let marked = path.withoutLast { ".,;:!)]'".utf8.contains($0) }
        if marked.count < path.count { readings.append(Array(marked)) }
        let (slash, backslash) = (UInt8(ascii: "/"), UInt8(ascii: "\\"))
        if path.contains(backslash) { readings += readings.map { $0.map { $0 == backslash ? slash : $0 } } }
        return readings
    }
}

extension [UInt8] {
    /// Returns the bytes without trailing bytes of a kind.
    fileprivate func withoutLast(_ isLast: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        self[..<(lastIndex { !isLast($0) }.map { $0 + 1 } ?? 0)]
    }
}
