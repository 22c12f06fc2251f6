/// The prefix of a route's paths, up to a slash or their end, compared in ``PathNormalForm``.
///
/// `/v1` is a prefix of `/v1`, `/v1/`, `/v1/a`, `//v1/a` and `/v%31;x/a`, not of `/v10`. Dot
/// segments are ordinary segments here: `/v1/../a` begins with it. If a path decides something, a
/// gateway rejects such requests earlier.
package struct PathPrefix: Sendable, Hashable {
    /// The prefix as given: empty, or beginning with a slash and ending without one.
    package let text: String
    /// The prefix in ``PathNormalForm``, without a slash at its end.
    package let normalForm: [UInt8]

    package init(_ path: String) {
        var path = path[...]
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        text = String(path)
        var normalForm = PathNormalForm.path(text.utf8)
        if normalForm.last == UInt8(ascii: "/") { normalForm.removeLast() }
        self.normalForm = normalForm
    }

    /// Whether the prefix is empty, so that all paths begin with it.
    package var isEmpty: Bool { normalForm.isEmpty }

    /// The part of a target behind the prefix, as received; `nil` if the target does not begin with
    /// it.
    ///
    /// - Parameter target: path and query.
    /// - Returns: the whole target if the prefix is empty; else a text that is empty, or begins
    ///   with a slash or a question mark.
    package func rest(of target: String) -> Substring? {
        isEmpty ? target[...] : PathNormalForm.rest(of: target, behind: normalForm)
    }

    /// The path of the prefix followed by the rest of another path.
    package func path(before rest: Substring) -> String {
        let path = text + rest
        return path.hasPrefix("/") ? path : "/" + path
    }
}
