/// A route's path prefix, which matches whole segments and is compared in ``PathNormalForm``.
///
/// `/v1` is a prefix of `/v1`, `/v1/`, `/v1/a`, `//v1/a` and `/v%31;x/a`, but not of `/v10`. Dot
/// segments are ordinary segments here: `/v1/../a` begins with `/v1`. If a decision depends on the
/// path, a gateway rejects such requests earlier.
package struct PathPrefix: Sendable, Hashable {
    /// The prefix as given: empty, or beginning with a slash and without a trailing slash.
    package let text: String
    /// The prefix in ``PathNormalForm``, without a trailing slash.
    package let normalForm: [UInt8]

    package init(_ path: String) {
        var path = path[...]
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        text = String(path)
        var normalForm = PathNormalForm.path(text.utf8)
        if normalForm.last == UInt8(ascii: "/") { normalForm.removeLast() }
        self.normalForm = normalForm
    }

    /// Whether the prefix is empty and so matches all paths.
    package var isEmpty: Bool { normalForm.isEmpty }

    /// Returns the part of a target after the prefix, as received, or `nil` if the target does not
    /// begin with the prefix.
    ///
    /// - Parameter target: path and query.
    /// - Returns: the whole target if the prefix is empty; otherwise a string that is empty or
    ///   begins with a slash or a question mark.
    package func rest(of target: String) -> Substring? {
        isEmpty ? target[...] : PathNormalForm.rest(of: target, behind: normalForm)
    }

    /// Returns the prefix followed by the rest of another path.
    package func path(before rest: Substring) -> String {
        let path = text + rest
        return path.hasPrefix("/") ? path : "/" + path
    }
}
