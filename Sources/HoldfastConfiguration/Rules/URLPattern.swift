/// A glob for target URIs.
///
/// `*` stands for any bytes but `/` (in a host: but `.`), `**` for any bytes; everything else for
/// itself. A pattern that begins with a slash is about any scheme, host and port. Without `?` it is
/// about the path, whatever the query; with one also about the query, in which `*` stands for any
/// bytes. RFC 3986 §3
///
/// ```
/// https://api.example.com/catalogue/**       all below it
/// https://*.example.com/**                   all hosts of one more label
/// /images/*.png                              on any host, not in folders below
/// /search?q=*                                with this query
/// ```
public struct URLPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    /// As it was written.
    public let text: String

    /// A pattern; whether it is one is checked when it becomes part of a ``RuleSet``.
    public init(_ text: String) { self.text = text }
    /// A pattern.
    public init(stringLiteral text: String) { self.text = text }
}
