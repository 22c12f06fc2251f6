/// What paths begin with, up to a slash or their end; octets as they came.
///
/// `/v1` is the beginning of `/v1`, `/v1/` and `/v1/a`, not of `/v10` or `/v%31/a`. Dot segments are segments like others: `/v1/../a` begins with it, and what the
/// origin makes of such a path is the origin's affair. So a prefix leads requests to where they belong, and keeps nobody out.
struct PathPrefix: Sendable, Hashable {
    /// Empty, or begins with a slash and ends without one.
    let text: String

    init(_ path: String) {
        var path = path[...]
        while path.hasSuffix("/") { path.removeLast() }
        text = String(path)
    }

    /// What follows the prefix; `nil` where the target does not begin with it.
    ///
    /// - Parameter target: path and query.
    func rest(of target: String) -> Substring? {
        guard !text.isEmpty else { return target[...] }
        guard target.utf8.starts(with: text.utf8) else { return nil }
        let rest = target[target.utf8.index(target.startIndex, offsetBy: text.utf8.count)...]
        return rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix("?") ? rest : nil
    }

    /// A path that begins with the prefix: the prefix, and the rest of another.
    func path(before rest: Substring) -> String {
        let path = text + rest
        return path.hasPrefix("/") ? path : "/" + path
    }

    /// Whether all paths that begin with another prefix begin with this one.
    func covers(_ other: PathPrefix) -> Bool { rest(of: other.text) != nil }
}
