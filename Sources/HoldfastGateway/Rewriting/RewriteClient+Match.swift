import HTTPCacheSemantics

/// The start of a URL that is below some route's origin, and what replaces it.
struct URLMatch {
    /// The bytes that are replaced: scheme, authority, and the path of the origin.
    var length: Int
    var replacement: [UInt8]
}

extension RewriteClient {
    /// The URL that begins where the reader is, as far as it is replaced; `nil` if nothing of it
    /// is.
    ///
    /// It is absolute, or without a scheme: then it has that of the request's origin. In text, only
    /// a quote, `=` or `(` before it tells that from a comment.
    ///
    /// - Parameter previous: the byte before it; `nil` at the start of a text.
    mutating func match(_ start: URLReader, behind previous: UInt8?) throws(URLReader.Incomplete) -> URLMatch? {
        var reader = start
        var isSecure = route.origin.scheme == "https"
        var hasScheme = false
        if let first = try reader.peek(), first | 0x20 == UInt8(ascii: "h") {
            guard start.surroundings == .nothing || previous?.mayPrecedeScheme ?? true,
                let isHTTPS = try reader.readScheme()
            else { return nil }
            (isSecure, hasScheme) = (isHTTPS, true)
        } else {
            guard start.surroundings == .nothing || previous?.opensReference ?? false else { return nil }
        }
        guard let slash = try reader.readSlash(), try reader.readSlash() == slash,
            let host = try reader.readHost(upTo: max(map.longestHost, requested?.name.utf8.count ?? 0))
        else { return nil }
        let standard = RewriteMap.Server.defaultPort(isSecure: isSecure)
        guard let port = try reader.readPort(standard), try reader.isBoundary(), try !reader.isUserInformation() else {
            return nil
        }
        let server = RewriteMap.Server(isSecure: isSecure, host: host, port: port)
        if route.preservesHost, let requested, host == requested.name, port == requested.port ?? standard {
            return try matchPreserved(start.index..<reader.index, &reader, slash)
        }
        guard let origins = map.origins(of: server) else { return nil }
        hasMetServer = true
        let end = reader.index
        let path = try reader.readPath(upTo: origins.longestPath)
        for (length, routes) in origins.startingPaths(of: path.bytes) {
            reader.index = length > 0 ? path.ends[length - 1] : end
            guard try reader.isBoundary() else { continue }
            let rest = try reader.peekPath(upTo: map.decidingPathLength)
            guard let base = base(ofFirst: routes, before: rest) else { continue }
            let scheme = hasScheme ? base.scheme + ":" : ""
            let text = "\(scheme)//\(base.authority)\(base.path)"
            return URLMatch(length: reader.index - start.index, replacement: Self.bytes(text, slash))
        }
        return nil
    }

    /// The origin knows the client's host, and wrote it: only the path may be another one.
    private mutating func matchPreserved(
        _ start: Range<Int>,
        _ reader: inout URLReader,
        _ slash: URLReader.Slash
    ) throws(URLReader.Incomplete) -> URLMatch? {
        guard !route.keepsTargets else { return nil }
        hasMetServer = true
        let prefix = route.originPrefix.text.utf8
        let path = try reader.readPath(upTo: prefix.count)
        guard path.bytes.elementsEqual(prefix) else { return nil }
        reader.index = path.ends.last ?? start.upperBound
        guard try reader.isBoundary(), leads(before: try reader.peekPath(upTo: map.decidingPathLength)) else {
            return nil
        }
        let kept = Array(reader.bytes[start])
        return URLMatch(
            length: reader.index - start.lowerBound,
            replacement: kept + Self.bytes(route.prefix.text, slash)
        )
    }

    private static func bytes(_ text: String, _ slash: URLReader.Slash) -> [UInt8] {
        guard slash == .escaped else { return Array(text.utf8) }
        return text.utf8.flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] }
    }
}

extension UInt8 {
    /// Whether a scheme can begin behind this byte: it is no part of another scheme, and not the
    /// slash before a URL in the path of another one.
    fileprivate var mayPrecedeScheme: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "/"):
            false
        default: true
        }
    }

    /// Whether a reference without a scheme can begin behind this byte: in an attribute, a string,
    /// or `url(`.
    fileprivate var opensReference: Bool { #""'=("#.utf8.contains(self) }
}
