package import HTTPCacheSemantics

/// A URL at an origin under which the responses to a client's URL are stored.
package struct OriginURL: Sendable, Hashable {
    /// The URL at the origin.
    package var url: TargetURI
    /// The routes through which clients get responses whose URLs begin with ``url``: names, or
    /// numbers from 1.
    package var routes: [String]

    /// Creates a URL that routes lead to.
    package init(_ url: TargetURI, routes: [String] = []) { (self.url, self.routes) = (url, routes) }
}
