import HTTPCacheSemantics
import HTTPTypes

/// The parsers of the fields that caching depends on, measured through API that does little else,
/// as users call them.
func fieldCases() -> [Case] {
    var cases: [Case] = []
    let policy = CachePolicy(kind: .shared)
    let typical = head([.cacheControl: "public, max-age=60, stale-while-revalidate=30"])
    cases.measure("Field: Cache-Control, typical") { policy.isImmutable(typical) }
    let long = head([
        .cacheControl: """
        private="set-cookie, x-user", no-cache="x-session", max-age=600, s-maxage=3600, must-revalidate, \
        proxy-revalidate, no-transform, immutable, stale-while-revalidate=86400, stale-if-error=259200, x-unknown="a, b"
        """
    ])
    cases.measure("Field: Cache-Control, long") { policy.isImmutable(long) }
    let targeted = head(field("CDN-Cache-Control", "max-age=60, stale-while-revalidate=30, must-revalidate"))
    cases.measure("Field: CDN-Cache-Control") { policy.isImmutable(targeted) }

    let date = "Sun, 01 Mar 2026 12:00:00 GMT"
    cases.measure("Field: HTTP-date") { HTTPDate.parse(date, reference: Messages.noon) }
    cases.measure("Field: HTTP-date, written") { HTTPDate.format(Messages.noon) }

    let tagged = head([.eTag: "\"5f2b1c-3ac\""])
    var conditional = Messages.request
    conditional.headerFields[.ifNoneMatch] = "\"5f2b1c-3aa\", W/\"5f2b1c-3ab\", \"x\", \"5f2b1c-3ac\""
    cases.measure("Field: If-None-Match, 4 tags") { [conditional] in policy.isNotModified(tagged, for: conditional) }
    var ranged = Messages.request
    ranged.headerFields[.range] = "bytes=0-499, 1000-1499, -500"
    cases.measure("Field: Range, 3 ranges") { [ranged] in policy.selection(of: tagged, bodyLength: 20_000, for: ranged)
    }

    let status = field("Cache-Status", "Origin; fwd=uri-miss; stored, \"CDN\"; hit; ttl=545")
    cases.measure("Field: Cache-Status, 2 members") { CacheStatus(status) }
    let outcome = CacheOutcome(isHit: true, timeToLive: 30)
    cases.measure("Field: Cache-Status, written") { outcome.cacheStatus() }
    let groups = field("Cache-Groups", "\"feeds\", \"harbour\", \"moments\"")
    cases.measure("Field: Cache-Groups, 3 groups") { policy.groups(of: groups) }
    return cases
}

private func head(_ fields: HTTPFields) -> StoredResponseHead {
    StoredResponseHead(status: .ok, fields: fields, requestTime: Messages.noon, responseTime: Messages.noon)
}

private func field(_ name: String, _ value: String) -> HTTPFields {
    HTTPField.Name(name).map { HTTPFields([HTTPField(name: $0, value: value)]) } ?? [:]
}
