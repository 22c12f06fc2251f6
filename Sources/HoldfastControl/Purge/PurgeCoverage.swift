import HTTPCacheOperations
import HTTPCacheSemantics

/// A prefix at an origin that a purge covers, because a client's prefix leads there.
///
/// A route replaces its path by the origin's, so the prefix may be wider than the client's path,
/// and other routes may lead to the same responses.
package struct PurgeCoverage: Sendable, Hashable, Codable {
    /// The prefix at the origin, with its secrets replaced.
    package var prefix: String
    /// The routes that lead to responses with the prefix.
    package var routes: [String]

    /// The maximum number of prefixes in a result.
    static let limit = 10

    /// The maximum number of routes in a text.
    private static let routeLimit = 5

    init(_ prefix: OriginURL) {
        self.prefix = Redaction.uriText(prefix.url.uri, limit: 200)
        routes = prefix.routes
    }

    /// The prefix and its routes, as part of a sentence.
    package var text: String {
        let names = routes.prefix(Self.routeLimit).map { "'\($0)'" }.joined(separator: ", ")
        let more = routes.count > Self.routeLimit ? " and \(routes.count - Self.routeLimit) more" : ""
        return "'\(prefix)'" + (routes.isEmpty ? "" : " (\(routes.count == 1 ? "route" : "routes") \(names)\(more))")
    }
}
