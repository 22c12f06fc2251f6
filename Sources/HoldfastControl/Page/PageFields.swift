import HTTPTypes

/// The response fields of the page's files. The page shows text from stored responses, which may
/// contain scripts. No such script may run on the page, and the page may connect only to its own
/// gateway.
enum PageFields {
    static let all: HTTPFields = {
        var fields = HTTPFields()
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
            "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
        ]
        for (name, value) in [
            ("Content-Security-Policy", policy.joined(separator: "; ")), ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"), ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
        ] {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }()
}
