import HTTPCacheSemantics
import HTTPTypes

@testable import HTTPCache

/// Responses beside a stored one, and to its validation.
extension FetchCase {
    static let success: @Sendable (inout FetchContext) -> Void = {
        $0.known.success = $0.stored()
        $0.known.variants = [$0.stored()]
    }

    static let guarded: @Sendable (inout FetchContext) -> Void = {
        success(&$0)
        $0.options.goodDataGuard = GoodDataGuard()
    }

    static let standsIn: @Sendable (inout FetchContext) -> Void = {
        guarded(&$0)
        $0.fetch.mayStandIn = true
    }

    static let page: HTTPFields = [.contentType: "text/html", .cacheControl: "max-age=60"]
    static let empty: HTTPFields = [.contentType: "application/json", .contentLength: "0"]

    static let besideSuccess = [
        FetchCase("another success", .stores, .ok, lasting, beside: success),
        FetchCase("404", .passes(.storedSuccess), .notFound, lasting, beside: success),
        FetchCase("500", .passes(.storedSuccess), .internalServerError, lasting, beside: success),
        FetchCase(
            "an error that may not be stored anyway",
            .passes(.responseNoStore),
            .notFound,
            [
                .cacheControl: "no-store"
            ],
            beside: success
        ),
        FetchCase("a redirection", .stores, .movedPermanently, lasting, beside: success),
        FetchCase(
            "an error that is no variant among the stored ones",
            .passes(.storedSuccess),
            .notFound,
            lasting,
            beside: {
                $0.known.variants = [$0.stored([.vary: "Accept"])]
            }
        ),
        FetchCase(
            "an error that is a variant of its own",
            .stores,
            .notFound,
            [
                .cacheControl: "max-age=60", .vary: "Accept",
            ],
            beside: { $0.known.variants = [$0.stored([.vary: "Accept"])] }
        ),
        FetchCase("a page of HTML without a guard", .stores, .ok, page, beside: success),
        FetchCase("a page of HTML", .passes(.guarded), .ok, page, beside: guarded),
        FetchCase("a page of HTML while the stored one may answer", .refuses, .ok, page, beside: standsIn),
        FetchCase("an empty body", .passes(.guarded), .ok, empty, beside: guarded),
        FetchCase("an empty body while the stored one may answer", .refuses, .ok, empty, beside: standsIn),
        FetchCase(
            "good data beside a guard",
            .stores,
            .ok,
            [.contentType: "application/json; charset=utf-8"],
            beside: {
                standsIn(&$0)
            }
        ),
        FetchCase("an error beside a guard", .passes(.storedSuccess), .notFound, page, beside: standsIn),
        FetchCase(
            "a captive portal's page, which forbids storing",
            .refuses,
            .ok,
            [
                .contentType: "text/html", .cacheControl: "no-store",
            ],
            beside: standsIn
        ),
        FetchCase(
            "the same if the stored response may not answer",
            .passes(.responseNoStore),
            .ok,
            [
                .contentType: "text/html", .cacheControl: "no-store",
            ],
            beside: guarded
        ),
        FetchCase("a page in response to HEAD", .passes(.method), .ok, page, method: .head, beside: standsIn),
        FetchCase(
            "a page in response to a keyed POST",
            .refuses,
            .ok,
            page,
            method: .post,
            change: { $0.keysContent = true },
            beside: standsIn
        ),
        FetchCase(
            "a page that forbids storing, in response to a keyed POST",
            .passes(.responseNoStore),
            .ok,
            [.contentType: "text/html", .cacheControl: "no-store"],
            method: .post,
            change: { $0.keysContent = true },
            beside: standsIn
        ),
        FetchCase(
            "a page if a rule lifts the guard",
            .stores,
            .ok,
            page,
            rules: { $0.goodDataGuard = .off },
            beside: {
                standsIn(&$0)
            }
        ),
        FetchCase(
            "a page if a rule sets the guard",
            .passes(.guarded),
            .ok,
            page,
            rules: { $0.goodDataGuard = .value(GoodDataGuard()) },
            beside: success
        ),
        FetchCase(
            "a page if the request sets the guard",
            .passes(.guarded),
            .ok,
            page,
            change: { $0.goodDataGuard = GoodDataGuard() },
            beside: success
        ),
    ]

    static let validation: @Sendable (inout FetchContext) -> Void = { $0.fetch.validating = $0.stored() }
    static let ofPrincipal: @Sendable (inout FetchContext) -> Void = {
        $0.fetch.validating = $0.stored(isCommon: false)
    }
    static let bearer: HTTPFields = [.authorization: "Bearer x"]

    static let validating = [
        FetchCase("304 with the stored validator", .freshens, .notModified, [.eTag: "\"1\""], beside: validation),
        FetchCase("304 without a validator", .freshens, .notModified, beside: validation),
        FetchCase("304 with another validator", .asksAgain, .notModified, [.eTag: "\"2\""], beside: validation),
        FetchCase(
            "304 with the caller's own validator",
            .passes(.statusAboutRequest),
            .notModified,
            [.eTag: "\"2\""],
            to: [.ifNoneMatch: "\"2\""],
            beside: validation
        ),
        FetchCase(
            "304 with a validator of neither",
            .asksAgain,
            .notModified,
            [.eTag: "\"3\""],
            to: [.ifNoneMatch: "\"2\""],
            beside: validation
        ),
        FetchCase(
            "304 without a validator, if the caller sent its own",
            .asksAgain,
            .notModified,
            to: [.ifNoneMatch: "\"2\""],
            beside: validation
        ),
        FetchCase("304 with no-store", .confirms, .notModified, [.cacheControl: "no-store"], beside: validation),
        FetchCase(
            "304 with private in a shared cache",
            .confirms,
            .notModified,
            [
                .cacheControl: "private"
            ],
            kind: .shared,
            beside: validation
        ),
        FetchCase(
            "304 that repeats a secret",
            .confirms,
            .notModified,
            [.contentLocation: "/feed?token=opensesame"],
            change: token,
            beside: ofPrincipal
        ),
        FetchCase("304 about a principal's own response", .freshens, .notModified, to: bearer, beside: ofPrincipal),
        FetchCase(
            "304 about a response for all, to a principal",
            .freshens,
            .notModified,
            [
                .cacheControl: "public, max-age=60"
            ],
            to: bearer,
            beside: validation
        ),
        FetchCase(
            "304 that makes a response for all one principal's",
            .asksAgain,
            .notModified,
            [
                .cacheControl: "max-age=60"
            ],
            to: bearer,
            beside: validation
        ),
        FetchCase(
            "304 that makes a response for all private",
            .asksAgain,
            .notModified,
            [
                .cacheControl: "private"
            ],
            to: bearer,
            beside: validation
        ),
        FetchCase("a whole new response", .stores, .ok, lasting, beside: validation),
        FetchCase(
            "a new response that may not be stored",
            .passes(.responseNoStore),
            .ok,
            [
                .cacheControl: "no-store"
            ],
            beside: validation
        ),
        FetchCase(
            "404 in place of a stored success",
            .passes(.storedSuccess),
            .notFound,
            lasting,
            beside: {
                validation(&$0)
                success(&$0)
            }
        ),
        FetchCase(
            "404 in place of a stored error",
            .stores,
            .notFound,
            lasting,
            beside: {
                $0.fetch.validating = $0.stored([.eTag: "\"1\""], .notFound)
            }
        ),
    ]
}
