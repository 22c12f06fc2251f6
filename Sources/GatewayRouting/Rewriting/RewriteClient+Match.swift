import HTTPCacheSemantics
import HTTPWire

/// The start of a URL below a route's origin, and its replacement.
struct URLMatch {
    /// The number of bytes to replace: scheme, authority, and the origin's path.
    var length: Int
    var replacement: [UInt8]
}

extension RewriteClient {
    /// Returns the start of the URL at the reader's position, with its replacement; `nil` if the
    /// URL must not be replaced.
    ///
    /// The URL is absolute, or has no scheme and uses the scheme of the request's origin. In text,
    /// a URL without a scheme must follow a quote, `=` or `(`, because otherwise `//` could begin a
    /// comment.
    mutating func match(_ start: URLReader, behind before: TextBefore) throws(URLReader.Incomplete) -> URLMatch? {
        var reader = start
        var isSecure = route.origin.scheme == "https"
        var hasScheme = false
        if let first = try reader.peek(), first | 0x20 == UInt8(ascii: "h") {
            guard start.surroundings == .nothing || before.mayPrecedeScheme,
                let isHTTPS = try reader.readScheme()
            else { return nil }
            (isSecure, hasScheme) = (isHTTPS, true)
        } else {
            guard start.surroundings == .nothing || before.opensReference else { return nil }
        }
        guard let slash = try reader.readSlash(), try reader.readSlash() == slash,
            let host = try reader.readHost(upTo: max(map.longestHost, requested?.name.utf8.count ?? 0))
        else { return nil }
        let standard = RewriteMap.Server.defaultPort(isSecure: isSecure)
        guard let port = try reader.readPort(standard), try reader.endsAuthority(behind: before),
            try !reader.isUserInformation()
        else { return nil }
        let server = RewriteMap.Server(isSecure: isSecure, host: host, port: port)
        if route.preservesHost, let sent = requested.map(route.preserved), host == sent.name,
            port == sent.port ?? standard
        {
            return try matchPreserved(start.index..<reader.index, &reader, slash, before)
        }
        guard let origins = map.origins(of: server) else { return nil }
        hasMetServer = true
        let end = reader.index
        var path = URLReader.Path()
        if map.routes.havePaths || origins.havePaths {
            guard let whole = try reader.readPath(behind: before), !leaves(whole.bytes, pathsCount: origins.havePaths)
            else { return nil }
            path = whole
        }
        for (length, routes) in origins.startingPaths(of: path.bytes) {
            reader.index = path.end(of: length) ?? end
            if length > 0 { guard try reader.endsSegment(behind: before) else { continue } }
            guard let base = base(ofFirst: routes, before: path.rest(behind: length)) else { continue }
            let scheme = hasScheme ? base.scheme + ":" : ""
            let text = "\(scheme)//\(base.authority)\(base.path)"
            return URLMatch(length: reader.index - start.index, replacement: Self.bytes(text, slash))
        }
        return nil
    }

    /// Matches a URL with the client's own host, which the origin knows. Only the path may differ.
    private mutating func matchPreserved(
        _ start: Range<Int>,
        _ reader: inout URLReader,
        _ slash: URLReader.Slash,
        _ before: TextBefore
    ) throws(URLReader.Incomplete) -> URLMatch? {
        guard !route.keepsTargets else { return nil }
        hasMetServer = true
        let prefix = route.originPrefix.text.utf8
        guard let path = try reader.readPath(behind: before), path.bytes.starts(with: prefix),
            !leaves(path.bytes, pathsCount: true)
        else { return nil }
        reader.index = path.end(of: prefix.count) ?? start.upperBound
        if prefix.count > 0 { guard try reader.endsSegment(behind: before) else { return nil } }
        guard leads(before: path.rest(behind: prefix.count)) else { return nil }
        let kept = Array(reader.bytes[start])
        return URLMatch(
            length: reader.index - start.lowerBound,
            replacement: kept + Self.bytes(route.prefix.text, slash)
        )
    }

    private static func bytes(_ text: String, _ slash: URLReader.Slash) -> [UInt8] {
        slash == .plain ? Array(text.utf8) : Array(text.replacing("/", with: slash.rawValue).utf8)
    }
}
