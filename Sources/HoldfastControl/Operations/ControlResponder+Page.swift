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
