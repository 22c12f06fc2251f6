import Crypto
import HTTPTypes
import Hummingbird

/// The request as the origin received it.
private struct Echo: Encodable {
    struct Body: Encodable {
        let length: Int
        let sha256: String
    }

    let number: Int
    let method: String
    let target: String
    let fields: [[String]]
    let body: Body
}

/// Adds `/echo` and all paths below it, for every method. The response describes the request as it
/// was received.
func addEchoRoutes(to router: Router<OriginContext>) {
    var methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete, .options]
    if let query = HTTPRequest.Method("QUERY") { methods.append(query) }
    for method in methods {
        for path: RouterPath in ["/echo", "/echo/**"] {
            router.on(path, method: method) { request, context in
                var hash = SHA256()
                var length = 0
                // Hashes the body as it arrives, so that an upload of any size can be checked.
                for try await part in request.body {
                    hash.update(data: part.readableBytesView)
                    length += part.readableBytes
                }
                let recorded = context.recorded
                let echo = Echo(
                    number: recorded?.number ?? 0,
                    method: recorded?.method ?? request.method.rawValue,
                    target: recorded?.target ?? request.uri.string,
                    fields: recorded?.fields.map { [$0.name, $0.value] } ?? [],
                    body: Echo.Body(length: length, sha256: hexadecimal(hash.finalize()))
                )
                var response = try Response.json(echo)
                response.headers[.cacheControl] = "no-store"
                return response
            }
        }
    }
}
