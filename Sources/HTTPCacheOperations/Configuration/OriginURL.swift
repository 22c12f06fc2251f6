package import HTTPCacheSemantics

/// Finds where the responses to URLs that clients request are stored.
package protocol OriginURLFinding: Sendable {
    /// Returns the URLs under which responses are stored for a URL that clients request, such as
    /// `https://a.example/v1/feed` for `http://gateway/feed`, or for an origin's URL if its route
    /// preserves the client's host or rules change the URL.
    ///
    /// - Returns: none if no route leads there, or if responses are stored under the URL itself.
    func originURLs(of url: TargetURI) -> [OriginURL]

    /// Returns the prefixes under which responses are stored for all URLs that begin with one that
    /// clients request. A route with a longer path has a prefix of its own.
    ///
    /// - Returns: none for other URLs.
    func originPrefixes(of prefix: TargetURI) -> [OriginURL]
}

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
