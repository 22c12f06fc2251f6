import HTTPCacheSemantics
import HTTPTypes

@testable import HTTPCache

/// Responses while nothing is stored.
extension FillCase {
    static let lasting: HTTPFields = [.cacheControl: "max-age=60"]

    static let alone = [
        FillCase("a success with a lifetime", .stores, .ok, lasting),
        FillCase("a success without a lifetime", .stores),
        FillCase("the response to HEAD", .passes(.method), .ok, lasting, method: .head),
        FillCase("the response to POST", .passes(.method), .ok, lasting, method: .post),
        FillCase(
            "the response to a keyed POST",
            .stores,
            .ok,
            lasting,
            method: .post,
            change: { $0.keysContent = true }
        ),
        FillCase(
            "the same without a lifetime",
            .passes(.notExplicit),
            method: .post,
            change: { $0.keysContent = true }
        ),
        FillCase(
            "the same with the caller's expiry",
            .stores,
            method: .post,
            change: {
                $0.keysContent = true
                $0.storage = .expiring(.after(.seconds(60)))
            }
        ),
        FillCase("the response to QUERY", .stores, method: HTTPRequest.Method("QUERY") ?? .get),
        FillCase("a status beyond 599", .passes(.statusNotUnderstood), HTTPResponse.Status(code: 600), lasting),
        FillCase(
            "must-understand with an unknown status",
            .passes(.statusNotUnderstood),
            HTTPResponse.Status(code: 299),
            [.cacheControl: "max-age=60, must-understand"]
        ),
        FillCase("an unknown status with a lifetime", .stores, HTTPResponse.Status(code: 299), lasting),
        FillCase("401", .passes(.statusAboutRequest), .unauthorized, lasting),
        FillCase("412", .passes(.statusAboutRequest), .preconditionFailed, lasting),
        FillCase("429", .passes(.statusAboutRequest), .tooManyRequests, lasting),
        FillCase("304 to the caller's own validator", .passes(.statusAboutRequest), .notModified, lasting),
        FillCase("400", .passes(.statusProvoked), .badRequest, lasting),
        FillCase("400 that a rule names", .stores, .badRequest, lasting, rules: { $0.overrides.statuses = [400] }),
        FillCase("404", .stores, .notFound, lasting),
        FillCase("201 without a lifetime", .passes(.notExplicit), .created),
        FillCase(
            "201 with the caller's expiry",
            .stores,
            .created,
            change: { $0.storage = .expiring(.after(.seconds(60))) }
        ),
        FillCase("500 without a lifetime", .passes(.notExplicit), .internalServerError),
        FillCase(
            "500 with the caller's expiry",
            .passes(.notExplicit),
            .internalServerError,
            change: {
                $0.storage = .expiring(.after(.seconds(60)))
            }
        ),
        FillCase("no-store of the request", .passes(.requestNoStore), .ok, lasting, to: [.cacheControl: "no-store"]),
        FillCase("no-store of the response", .passes(.responseNoStore), .ok, [.cacheControl: "no-store"]),
        FillCase(
            "no-store that a rule lifts for use offline",
            .stores,
            .ok,
            [.cacheControl: "no-store"],
            rules: { $0.overrides.directivesIgnoredWhenStale = .noStore }
        ),
        FillCase(
            "private in a shared cache",
            .passes(.privateResponse),
            .ok,
            [.cacheControl: "private"],
            kind: .shared
        ),
        FillCase("private in a user's own cache", .stores, .ok, [.cacheControl: "private"]),
        FillCase("Vary: *", .passes(.varyAny), .ok, [.vary: "*"]),
        FillCase("Vary with a name", .stores, .ok, [.vary: "Accept"]),
        FillCase("a cookie in a shared cache", .passes(.setCookie), .ok, [.setCookie: "a=1"], kind: .shared),
        FillCase("a cookie in a user's own cache", .stores, .ok, [.setCookie: "a=1"]),
        FillCase("a status that rules exclude", .passes(.rule), .ok, lasting, rules: { $0.overrides.statuses = [404] }),
        FillCase(
            "tags that must not be stored",
            .passes(.tags),
            .ok,
            [.cacheControl: "max-age=60, private=\"xkey\"", TagField.xkey.name: "a"],
            kind: .shared,
            rules: { $0.tagFields = [.xkey] }
        ),
        FillCase("an event stream", .passes(.endless), .ok, [.contentType: "text/event-stream; charset=utf-8"]),
        FillCase(
            "a stream of pictures",
            .passes(.endless),
            .ok,
            [.contentType: "Multipart/X-Mixed-Replace; boundary=a"]
        ),
        FillCase(
            "no-store of an event stream",
            .passes(.responseNoStore),
            .ok,
            [
                .contentType: "text/event-stream", .cacheControl: "no-store",
            ]
        ),
        FillCase(
            "an error while the store cannot be asked",
            .passes(.store),
            .notFound,
            lasting,
            beside: {
                $0.known.isWhole = false
            }
        ),
        FillCase(
            "a success while the store cannot be asked",
            .stores,
            .ok,
            lasting,
            beside: { $0.known.isWhole = false }
        ),
    ]

    static let token: @Sendable (inout CacheRequest) -> Void = { $0.secretParameters = ["token"] }
    static let user = HTTPField.Name("X-User") ?? .from

    static let ofCallers = [
        FillCase(
            "credentials in a shared cache",
            .passes(.authorization),
            .ok,
            lasting,
            kind: .shared,
            to: [.authorization: "Bearer x"]
        ),
        FillCase(
            "the same for all",
            .stores,
            .ok,
            [.cacheControl: "public, max-age=60"],
            kind: .shared,
            to: [.authorization: "Bearer x"]
        ),
        FillCase(
            "credentials in a user's own cache",
            .storesForPrincipal,
            .ok,
            lasting,
            to: [.authorization: "Bearer x"]
        ),
        FillCase(
            "the same for all users of the cache",
            .stores,
            .ok,
            [.cacheControl: "public, max-age=60"],
            to: [.authorization: "Bearer x"]
        ),
        FillCase("a cookie in the request", .storesForPrincipal, .ok, lasting, to: [.cookie: "a=1"]),
        FillCase(
            "a cookie that rules ignore, in a shared cache",
            .stores,
            .ok,
            lasting,
            kind: .shared,
            to: [.cookie: "a=1"],
            rules: { $0.ignoredFields = [.cookie] }
        ),
        FillCase(
            "a cookie beside one that rules ignore",
            .passes(.authorization),
            .ok,
            lasting,
            kind: .shared,
            to: [.cookie: "a=1", .authorization: "Bearer x"],
            rules: { $0.ignoredFields = [.cookie] }
        ),
        FillCase("a named principal", .storesForPrincipal, .ok, lasting, change: { $0.principal = "ann" }),
        FillCase("a secret parameter", .storesForPrincipal, .ok, lasting, change: token),
        FillCase(
            "a secret parameter that the response repeats",
            .passes(.authorization),
            .ok,
            [.cacheControl: "public, max-age=60", .contentLocation: "/feed?token=opensesame"],
            change: token
        ),
        FillCase(
            "a secret that is repeated, and was not declared one",
            .stores,
            .ok,
            [.cacheControl: "public, max-age=60", .contentLocation: "/feed?token=opensesame"]
        ),
        FillCase(
            "a principal that a rule finds",
            .storesForPrincipal,
            .ok,
            [.cacheControl: "public, max-age=60"],
            kind: .shared,
            to: [user: "ann"],
            rules: { $0.principal = .field(user) }
        ),
        FillCase(
            "no principal where a rule looks for one",
            .stores,
            .ok,
            lasting,
            kind: .shared,
            rules: { $0.principal = .field(user) }
        ),
    ]
}
