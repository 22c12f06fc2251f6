import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

extension FleetInvalidation {
    /// Returns the invalidation with the places where this node stores the responses to its URL or
    /// prefix.
    ///
    /// The node that accepts a purge finds such places by its own routes and rules. While a change
    /// of these reaches one node after the other, this node may store the responses elsewhere. The
    /// log has each URL as the operator stated it, next to those at the origins.
    func resolved(by places: any OriginURLFinding) -> FleetInvalidation {
        // An unsafe method invalidates an origin's URL, not one that an operator stated.
        guard effect != .mark(.unsafeMethod) else { return self }
        let found: [InvalidationScope]
        switch scope {
        case .target(let url):
            found = places.originURLs(of: url).flatMap { Self.readings(of: $0) }.map { .target($0) }
        case .prefix(let prefix):
            found = places.originPrefixes(of: prefix.target).flatMap { Self.readings(of: $0) }
                .map { .prefix(TargetPrefix($0)) }
        case .all, .host, .key, .principal, .tag: return self
        }
        var resolved = self
        var seen: Set<InvalidationScope> = [scope]
        resolved.localScopes = found.filter { seen.insert($0).inserted }
        return resolved
    }

    private static func readings(of place: OriginURL) -> [TargetURI] {
        (try? TargetURI.readings(of: place.url.uri)) ?? [place.url]
    }
}
