import HTTPTypes
import Hummingbird

/// Adds routes that differ only in their caching fields: `GET /no-store` and others.
func addFreshnessRoutes(to router: Router<OriginContext>, state: OriginState) {
    let fresh = state.defaultCacheControl
    let kinds: [(path: String, fields: [(HTTPField.Name, String)])] = [
        ("no-store", [(.cacheControl, "no-store")]),
        ("no-cache", [(.cacheControl, "no-cache")]),
        ("private", [(.cacheControl, "private, \(fresh)")]),
        ("public", [(.cacheControl, "public, \(fresh)")]),
        ("must-revalidate", [(.cacheControl, "\(fresh), must-revalidate")]),
        ("proxy-revalidate", [(.cacheControl, "\(fresh), proxy-revalidate")]),
        ("immutable", [(.cacheControl, "\(fresh), immutable")]),
        ("stale-while-revalidate", [(.cacheControl, "\(fresh), stale-while-revalidate=600")]),
        ("stale-if-error", [(.cacheControl, "\(fresh), stale-if-error=600")]),
        // No explicit lifetime, so a cache may use a heuristic.
        ("heuristic", [(.lastModified, HTTPDate.string(secondsSince1970: MomentsFeed.firstModified))]),
        // May be stored, but never matches a later request (RFC 9111 §4.1).
        ("uncacheable", [(.cacheControl, fresh), (.vary, "*")]),
    ]
    for kind in kinds {
        router.get(RouterPath("/\(kind.path)")) { _, _ in
            var response = try Response.representation(json: ["path": "/\(kind.path)"], cacheControl: nil)
            for (name, value) in kind.fields {
                response.headers[name] = value
            }
            return response
        }
    }
    // The body is the request's number, so a test can recognize a response that is served again.
    router.get("/counter") { request, context in
        let maxAge = try Query(request).integer(
            "max-age",
            default: state.configuration.maxAge,
            in: 0...OriginConfiguration.largestMaxAge
        )
        var response = try Response.json(["request": context.recorded?.number ?? 0])
        response.headers[.cacheControl] = "max-age=\(maxAge)"
        return response
    }
}
