import HTTPCacheSemantics

/// Whether the URL that replaces another one leads there. The routes decide that as for a
/// request, by the whole of its path.
extension RewriteClient {
    /// Whether this client's request for a path below its route's takes that route.
    func leads(before rest: [UInt8]) -> Bool { leads(requested, route.prefix.text, before: rest, to: routeIndex) }

    /// Whether a cookie with this path is for requests that take another origin's route, and for
    /// none of this one. One for a wider path, `/` for example, is for this route as well.
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

    /// Whether a request for a URL takes a route, or another one to the same place: an earlier
    /// route may take it.
    private func leads(_ host: RequestedHost?, _ path: String, before rest: [UInt8], to index: Int) -> Bool {
        Self.readings(of: rest).allSatisfy { rest in
            let path = path + String(decoding: rest, as: UTF8.self)
            let target = path.hasPrefix("/") ? path : "/" + path
            guard let choice = map.routes.choose(host: host, target: target) else { return false }
            let (mine, other) = (map.routes.routes[index], map.routes.routes[choice.route])
            return choice.route == index || mine.endpoint == other.endpoint && mine.path(for: target) == choice.path
        }
    }

    /// Whether a dot segment may lead a path out of the one that is put before it. Clients resolve
    /// it before they send a request, and the gateway rejects it.
    ///
    /// - Parameter pathsCount: whether paths decide something although no route has one.
    func leaves(_ path: [UInt8], pathsCount: Bool) -> Bool {
        var path = path.withoutLast { ",;:!)]'".utf8.contains($0) }
        // It is the end of a sentence, or names the same place.
        if path.suffix(2).elementsEqual("/.".utf8) { path.removeLast() }
        return map.routes.refuseDotSegments(of: String(decoding: path, as: UTF8.self), rulesHavePaths: pathsCount)
    }

    /// The paths that clients may see in a path: the marks at its end may be those of a sentence,
    /// and browsers take a backslash for a slash.
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
    /// The bytes before the last ones of a kind.
    fileprivate func withoutLast(_ isLast: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        self[..<(lastIndex { !isLast($0) }.map { $0 + 1 } ?? 0)]
    }
}
