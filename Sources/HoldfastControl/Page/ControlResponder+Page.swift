import Foundation
import HTTPTypes
import Hummingbird

extension ControlResponder {
    /// The operations that serve the status page's files. They need no token, because a browser has
    /// none when it opens the page, and the files are the same for everyone. The data that the page
    /// shows requires a token.
    static let page: [Operation] = [
        Operation(path: "/", method: .get, scope: .read, isOpen: true) { responder, _, _ in
            try responder.asset(PageAssets.index)
        },
        Operation(path: "/page/{id}", method: .get, scope: .read, isOpen: true) { responder, request, _ in
            try responder.asset(String(request.uri.path.split(separator: "/").last ?? ""))
        },
        // Browsers request this path on their own.
        Operation(path: "/favicon.ico", method: .get, scope: .read, isOpen: true) { _, _, _ in
            Response(status: .noContent, headers: PageFields.all)
        },
    ]

    private func asset(_ name: String) throws -> Response {
        guard let asset = assets.asset(name) else {
            throw ControlProblem(
                .notFound,
                "The page has no file '\(ControlProblem.shown(name))'.",
                field: "path",
                value: name
            )
        }
        var response = Self.response(.ok, asset.type, Data(asset.bytes), PageFields.all, ending: "")
        response.headers[.contentType] = asset.type
        return response
    }
}

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
