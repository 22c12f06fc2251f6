import HTTPTypes
import Hummingbird

/// Adds routes with other kinds of bodies than the feed's: languages, images, HTML, an empty body.
func addContentRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/greeting") { request, _ in
        let language = Greeting.language(accepted: request.headers[.acceptLanguage])
        var response = Response.representation(
            Array(Greeting.text(in: language).utf8),
            contentType: "text/plain; charset=utf-8",
            cacheControl: state.defaultCacheControl
        )
        response.headers[.contentLanguage] = language
        response.headers[.vary] = "Accept-Language"
        return response
    }
    router.get("/images/{name}") { _, context in
        let name = try context.parameters.require("name")
        guard let image = SampleImage(name: name) else {
            throw OriginHTTPError(.notFound, code: "unknown-image", message: "There is no image '\(name)'.")
        }
        return Response.representation(
            image.bytes,
            contentType: "image/svg+xml",
            cacheControl: "max-age=86400, immutable"
        )
    }
    router.get("/html") { _, _ in
        // A captive portal's response: a success with content that was not requested.
        Response.representation(
            Array("<!doctype html>\n<title>Welcome</title>\n<p>Please accept the terms to go on.</p>\n".utf8),
            contentType: "text/html; charset=utf-8",
            cacheControl: state.defaultCacheControl
        )
    }
    router.get("/empty") { _, _ in
        Response.representation([], contentType: "application/json", cacheControl: state.defaultCacheControl)
    }
}
