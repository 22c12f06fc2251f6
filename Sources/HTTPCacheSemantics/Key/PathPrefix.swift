/// What the paths of a route begin with, up to a slash or their end, compared in
/// ``PathNormalForm``.
///
/// `/v1` is the beginning of `/v1`, `/v1/`, `/v1/a`, `//v1/a` and `/v%31;x/a`, not of `/v10`. Dot
/// segments are segments like others here: `/v1/../a` begins with it. Where a path decides
/// something, a gateway refuses such requests before it comes to this.
package struct PathPrefix: Sendable, Hashable {
    /// As it was given: empty, or begins with a slash and ends without one.
    package let text: String
    /// In ``PathNormalForm``, without a slash at its end.
    package let normalForm: [UInt8]

    package init(_ path: String) {
        var path = path[...]
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        text = String(path)
        var normalForm = PathNormalForm.path(text.utf8)
        if normalForm.last == UInt8(ascii: "/") { normalForm.removeLast() }
        self.normalForm = normalForm
    }

    /// Whether all paths begin with it.
    package var isEmpty: Bool { normalForm.isEmpty }

    /// What follows the prefix, as it came; `nil` where the target does not begin with it.
    ///
    /// - Parameter target: path and query.
    /// - Returns: without a prefix all of the target; else it is empty, or begins with a slash or a
    ///   question mark.
    package func rest(of target: String) -> Substring? {
        isEmpty ? target[...] : PathNormalForm.rest(of: target, behind: normalForm)
    }

    /// A path that begins with the prefix: the prefix, and the rest of another.
    package func path(before rest: Substring) -> String {
        let path = text + rest
        return path.hasPrefix("/") ? path : "/" + path
    }
}
