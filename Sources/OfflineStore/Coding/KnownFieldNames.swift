import HTTPTypes

/// Field names as they are mostly spelt, made once: making one checks and lower-cases it, which costs more than reading the field.
enum KnownFieldNames {
    static func name(_ rawName: String) -> HTTPField.Name? {
        table[rawName] ?? HTTPField.Name(rawName)
    }

    private static let table: [String: HTTPField.Name] = {
        let names = [
            "Accept", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Access-Control-Allow-Credentials",
            "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin",
            "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Age", "Allow", "Alt-Svc", "Authorization",
            "Cache-Control", "CDN-Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language",
            "Content-Length", "Content-Location", "Content-Security-Policy", "Content-Type", "Cookie", "Date", "ETag",
            "Expires", "Last-Modified", "Link", "Location", "Origin", "Pragma", "Referrer-Policy", "Retry-After",
            "Server",
            "Set-Cookie", "Strict-Transport-Security", "Timing-Allow-Origin", "Vary", "Via", "X-Cache",
            "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-ID", "X-XSS-Protection",
        ]
        var table: [String: HTTPField.Name] = [:]
        for rawName in names + names.map({ $0.lowercased() }) {
            if let name = HTTPField.Name(rawName) { table[rawName] = name }
        }
        return table
    }()
}
