/// A glob for target URIs.
///
/// - `*` matches any bytes except `/` (in a host: except `.`).
/// - `**` matches any bytes.
/// - Everything else matches itself.
/// - A pattern that begins with a slash matches any scheme, host and port.
/// - A pattern without `?` matches the path, whatever the query is. With `?`, it also matches the
///   query, in which `*` matches any bytes.
///
/// RFC 3986 §3
///
/// ```
/// https://api.example.com/catalogue/**       everything below /catalogue/
/// https://*.example.com/**                   any host with one more label
/// /images/*.png                              on any host, but not in subfolders
/// /search?q=*                                with a query that begins with q=
/// ```
public struct URLPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The text of the pattern.
    public let text: String

    /// Creates a pattern. It is checked when it becomes part of a ``RuleSet``.
    public init(_ text: String) { self.text = text }
    /// Creates a pattern.
    public init(stringLiteral text: String) { self.text = text }
}
