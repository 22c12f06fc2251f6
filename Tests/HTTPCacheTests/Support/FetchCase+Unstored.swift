import HTTPCacheSemantics
import HTTPTypes

@testable import HTTPCache

/// Responses while nothing is stored.
extension FetchCase {
    static let lasting: HTTPFields = [.cacheControl: "max-age=60"]

    static let alone = [
        FetchCase("a success with a lifetime", .stores, .ok, lasting),
        FetchCase("a success without a lifetime", .stores),
        FetchCase("the response to HEAD", .passes(.method), .ok, lasting, method: .head),
        FetchCase("the response to POST", .passes(.method), .ok, lasting, method: .post),
        FetchCase(
            "the response to a keyed POST",
            .stores,
            .ok,
            lasting,
            method: .post,
            change: { $0.keysContent = true }
        ),
        FetchCase(
            "the same without a lifetime",
            .passes(.notExplicit),
            method: .post,
            change: { $0.keysContent = true }
        ),
        FetchCase(
            "the same with the caller's expiry",
            .stores,
            method: .post,
            change: {
                $0.keysContent = true
                $0.storage = .expiring(.after(.seconds(60)))
            }
        ),
        FetchCase("the response to QUERY", .stores, method: HTTPRequest.Method("QUERY") ?? .get),
        FetchCase("a status beyond 599", .passes(.statusNotUnderstood), HTTPResponse.Status(code: 600), lasting),
        FetchCase(
            "must-understand with an unknown status",
            .passes(.statusNotUnderstood),
            HTTPResponse.Status(code: 299),
            [.cacheControl: "max-age=60, must-understand"]
        ),
        FetchCase("an unknown status with a lifetime", .stores, HTTPResponse.Status(code: 299), lasting),
        FetchCase("401", .passes(.statusAboutRequest), .unauthorized, lasting),
        FetchCase("412", .passes(.statusAboutRequest), .preconditionFailed, lasting),
        FetchCase("429", .passes(.statusAboutRequest), .tooManyRequests, lasting),
        FetchCase("304 to the caller's own validator", .passes(.statusAboutRequest), .notModified, lasting),
        FetchCase("400", .passes(.statusProvoked), .badRequest, lasting),
        FetchCase("400 that a rule names", .stores, .badRequest, lasting, rules: { $0.overrides.statuses = [400] }),
        FetchCase("404", .stores, .notFound, lasting),
        FetchCase("201 without a lifetime", .passes(.notExplicit), .created),
        FetchCase(
            "201 with the caller's expiry",
            .stores,
            .created,
            change: { $0.storage = .expiring(.after(.seconds(60))) }
        ),
        FetchCase("500 without a lifetime", .passes(.notExplicit), .internalServerError),
        FetchCase(
            "500 with the caller's expiry",
            .passes(.notExplicit),
            .internalServerError,
            change: {
                $0.storage = .expiring(.after(.seconds(60)))
            }
        ),
        FetchCase("no-store of the request", .passes(.requestNoStore), .ok, lasting, to: [.cacheControl: "no-store"]),
        FetchCase("no-store of the response", .passes(.responseNoStore), .ok, [.cacheControl: "no-store"]),
        FetchCase(
            "no-store that a rule lifts for use offline",
            .stores,
            .ok,
            [.cacheControl: "no-store"],
            rules: { $0.overrides.directivesIgnoredWhenStale = .noStore }
        ),
        FetchCase(
            "private in a shared cache",
            .passes(.privateResponse),
            .ok,
            [.cacheControl: "private"],
            kind: .shared
        ),
        FetchCase("private in a user's own cache", .stores, .ok, [.cacheControl: "private"]),
        FetchCase("Vary: *", .passes(.varyAny), .ok, [.vary: "*"]),
        FetchCase("Vary with a name", .stores, .ok, [.vary: "Accept"]),
        FetchCase("a cookie in a shared cache", .passes(.setCookie), .ok, [.setCookie: "a=1"], kind: .shared),
        FetchCase("a cookie in a user's own cache", .stores, .ok, [.setCookie: "a=1"]),
        FetchCase(
            "a status that rules exclude",
            .passes(.rule),
            .ok,
            lasting,
            rules: { $0.overrides.statuses = [404] }
        ),
        FetchCase(
            "tags that must not be stored",
            .passes(.tags),
            .ok,
            [.cacheControl: "max-age=60, private=\"xkey\"", TagField.xkey.name: "a"],
            kind: .shared,
            rules: { $0.tagFields = [.xkey] }
        ),
        FetchCase("an event stream", .passes(.endless), .ok, [.contentType: "text/event-stream; charset=utf-8"]),
        FetchCase(
            "an event stream with a content coding",
            .passes(.endless),
            .ok,
            [.contentType: "text/event-stream", .contentEncoding: "gzip"],
            rules: { $0.eventStreams = EventStreamRule(ending: "x") }
        ),
        FetchCase(
            "an event stream that a rule stores",
            .stores,
            .ok,
            [.contentType: "text/event-stream"],
            rules: { $0.eventStreams = EventStreamRule(ending: "x") }
        ),
        FetchCase(
            "an event stream with another status",
            .passes(.endless),
            .nonAuthoritativeInformation,
            [.contentType: "text/event-stream"],
            rules: { $0.eventStreams = EventStreamRule(ending: "x") }
        ),
        FetchCase(
            "a stream of pictures",
            .passes(.endless),
            .ok,
            [.contentType: "Multipart/X-Mixed-Replace; boundary=a"]
        ),
        FetchCase(
            "no-store of an event stream",
            .passes(.responseNoStore),
            .ok,
            [
                .contentType: "text/event-stream", .cacheControl: "no-store",
            ]
        ),
        FetchCase(
            "an error while the store cannot be asked",
            .passes(.store),
            .notFound,
            lasting,
            beside: {
                $0.known.isWhole = false
            }
        ),
        FetchCase(
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
        FetchCase(
            "credentials in a shared cache",
            .passes(.authorization),
            .ok,
            lasting,
            kind: .shared,
            to: [.authorization: "Bearer x"]
        ),
        FetchCase(
            "the same for all",
            .stores,
            .ok,
            [.cacheControl: "public, max-age=60"],
            kind: .shared,
            to: [.authorization: "Bearer x"]
        ),
        FetchCase(
            "credentials in a user's own cache",
            .storesForPrincipal,
            .ok,
            lasting,
            to: [.authorization: "Bearer x"]
        ),
        FetchCase(
            "the same for all users of the cache",
            .stores,
            .ok,
            [.cacheControl: "public, max-age=60"],
            to: [.authorization: "Bearer x"]
        ),
        FetchCase("a cookie in the request", .storesForPrincipal, .ok, lasting, to: [.cookie: "a=1"]),
        FetchCase(
            "a cookie that rules ignore, in a shared cache",
            .stores,
            .ok,
            lasting,
            kind: .shared,
            to: [.cookie: "a=1"],
            rules: { $0.ignoredFields = [.cookie] }
        ),
        FetchCase(
            "a cookie beside one that rules ignore",
            .passes(.authorization),
            .ok,
            lasting,
            kind: .shared,
            to: [.cookie: "a=1", .authorization: "Bearer x"],
            rules: { $0.ignoredFields = [.cookie] }
        ),
        FetchCase("a named principal", .storesForPrincipal, .ok, lasting, change: { $0.principal = "ann" }),
        FetchCase("a secret parameter", .storesForPrincipal, .ok, lasting, change: token),
        FetchCase(
            "a secret parameter that the response repeats",
            .passes(.authorization),
            .ok,
            [.cacheControl: "public, max-age=60", .contentLocation: "/feed?token=opensesame"],
            change: token
        ),
        FetchCase(
            "a secret that is repeated, and was not declared one",
            .stores,
            .ok,
            [.cacheControl: "public, max-age=60", .contentLocation: "/feed?token=opensesame"]
        ),
        FetchCase(
            "a principal that a rule finds",
            .storesForPrincipal,
            .ok,
            [.cacheControl: "public, max-age=60"],
            kind: .shared,
            to: [user: "ann"],
            rules: { $0.principal = .field(user) }
        ),
        FetchCase(
            "no principal where a rule looks for one",
            .stores,
            .ok,
            lasting,
            kind: .shared,
            rules: { $0.principal = .field(user) }
        ),
    ]
}
