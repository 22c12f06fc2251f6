import HTTPCacheSemantics
import HTTPTypes

/// Messages of the size that services exchange.
enum Messages {
    /// 2026-03-01T12:00:00Z: when the response was received.
    static let noon = Timestamp(seconds: 1_772_366_400)
    /// Half a minute later: the response is fresh.
    static let soon = noon.adding(milliseconds: 30_000)
    /// An hour later: the response is stale.
    static let late = noon.adding(milliseconds: 3_600_000)

    static let request = HTTPRequest(
        method: .get,
        scheme: "https",
        authority: "api.example",
        path: "/v2/feeds/harbour/moments?limit=20&order=newest",
        headerFields: [
            .userAgent: "Moments/4.2 (Linux; x86_64)",
            .accept: "application/json",
            .acceptEncoding: "gzip, br",
            .acceptLanguage: "en, de;q=0.8",
        ]
    )

    static let response = HTTPResponse(
        status: .ok,
        headerFields: [
            .date: "Sun, 01 Mar 2026 12:00:00 GMT",
            .contentType: "application/json; charset=utf-8",
            .contentLength: "2048",
            .cacheControl: "public, max-age=60, stale-while-revalidate=30",
            .eTag: "\"5f2b1c-3ab\"",
            .lastModified: "Sun, 01 Mar 2026 11:00:00 GMT",
            .vary: "Accept-Encoding, Accept-Language",
            .server: "origin/1.4",
            .strictTransportSecurity: "max-age=31536000",
            .xContentTypeOptions: "nosniff",
        ]
    )

    static func stored(language: String = "en, de;q=0.8") -> StoredResponseHead {
        var original = request
        original.headerFields[.acceptLanguage] = language
        let policy = CachePolicy(kind: .shared)
        return StoredResponseHead(
            selectingFields: policy.selectingFields(of: original, for: response),
            status: response.status,
            fields: policy.storedFields(of: response),
            requestTime: noon,
            responseTime: noon
        )
    }
}
