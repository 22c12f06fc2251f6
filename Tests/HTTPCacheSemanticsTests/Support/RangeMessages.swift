import HTTPCacheSemantics
import HTTPTypes

/// A stored complete response with a strong entity tag, modified long before its date.
func storedWhole(_ extra: [(String, String)] = []) -> StoredResponseHead {
    stored(
        [
            ("ETag", "\"v1\""), ("Date", noonDate), ("Last-Modified", "Sun, 01 Mar 2026 11:00:00 GMT"),
            ("Content-Type", "text/plain"), ("Cache-Control", "max-age=60"),
        ] + extra
    )
}

/// A stored partial response with a strong entity tag.
func storedPart(
    _ contentRange: String,
    _ pairs: [(String, String)] = [("ETag", "\"v1\""), ("Date", noonDate), ("Content-Type", "text/plain")]
) -> StoredResponseHead {
    stored(pairs + [("Content-Range", contentRange)], status: 206)
}

func rangeRequest(_ range: String, _ extra: [(String, String)] = []) -> HTTPRequest {
    request([("Range", range)] + extra)
}
