import HTTPCacheSemantics
import HTTPTypes

@testable import HTTPCache

/// Responses beside a stored one, and to its validation.
extension FillCase {
    static let success: @Sendable (inout FillContext) -> Void = {
        $0.known.success = $0.stored()
        $0.known.variants = [$0.stored()]
    }

    static let guarded: @Sendable (inout FillContext) -> Void = {
        success(&$0)
        $0.options.goodDataGuard = GoodDataGuard()
    }

    static let standsIn: @Sendable (inout FillContext) -> Void = {
        guarded(&$0)
        $0.fetch.mayStandIn = true
    }

    static let page: HTTPFields = [.contentType: "text/html", .cacheControl: "max-age=60"]
    static let empty: HTTPFields = [.contentType: "application/json", .contentLength: "0"]

    static let besideSuccess = [
        FillCase("another success", .stores, .ok, lasting, beside: success),
        FillCase("404", .passes(.storedSuccess), .notFound, lasting, beside: success),
        FillCase("500", .passes(.storedSuccess), .internalServerError, lasting, beside: success),
        FillCase(
            "an error that may not be stored anyway",
            .passes(.responseNoStore),
            .notFound,
            [
                .cacheControl: "no-store"
            ],
            beside: success
        ),
        FillCase("a redirection", .stores, .movedPermanently, lasting, beside: success),
        FillCase(
            "an error that is no variant among the stored ones",
            .passes(.storedSuccess),
            .notFound,
            lasting,
            beside: {
                $0.known.variants = [$0.stored([.vary: "Accept"])]
            }
        ),
        FillCase(
            "an error that is a variant of its own",
            .stores,
            .notFound,
            [
                .cacheControl: "max-age=60", .vary: "Accept",
            ],
            beside: { $0.known.variants = [$0.stored([.vary: "Accept"])] }
        ),
        FillCase("a page of HTML without a guard", .stores, .ok, page, beside: success),
        FillCase("a page of HTML", .passes(.guarded), .ok, page, beside: guarded),
        FillCase("a page of HTML while the stored one may answer", .refuses, .ok, page, beside: standsIn),
        FillCase("an empty body", .passes(.guarded), .ok, empty, beside: guarded),
        FillCase("an empty body while the stored one may answer", .refuses, .ok, empty, beside: standsIn),
        FillCase(
            "good data beside a guard",
            .stores,
            .ok,
            [.contentType: "application/json; charset=utf-8"],
            beside: {
                standsIn(&$0)
            }
        ),
        FillCase("an error beside a guard", .passes(.storedSuccess), .notFound, page, beside: standsIn),
        FillCase(
            "a captive portal's page, which forbids storing",
            .refuses,
            .ok,
            [
                .contentType: "text/html", .cacheControl: "no-store",
            ],
            beside: standsIn
        ),
        FillCase(
            "the same if the stored response may not answer",
            .passes(.responseNoStore),
            .ok,
            [
                .contentType: "text/html", .cacheControl: "no-store",
            ],
            beside: guarded
        ),
        FillCase("a page in response to HEAD", .passes(.method), .ok, page, method: .head, beside: standsIn),
        FillCase(
            "a page in response to a keyed POST",
            .refuses,
            .ok,
            page,
            method: .post,
            change: { $0.keysContent = true },
            beside: standsIn
        ),
        FillCase(
            "a page that forbids storing, in response to a keyed POST",
            .passes(.responseNoStore),
            .ok,
            [.contentType: "text/html", .cacheControl: "no-store"],
            method: .post,
            change: { $0.keysContent = true },
            beside: standsIn
        ),
        FillCase(
            "a page if a rule lifts the guard",
            .stores,
            .ok,
            page,
            rules: { $0.goodDataGuard = .off },
            beside: {
                standsIn(&$0)
            }
        ),
        FillCase(
            "a page if a rule sets the guard",
            .passes(.guarded),
            .ok,
            page,
            rules: { $0.goodDataGuard = .value(GoodDataGuard()) },
            beside: success
        ),
        FillCase(
            "a page if the request sets the guard",
            .passes(.guarded),
            .ok,
            page,
            change: { $0.goodDataGuard = GoodDataGuard() },
            beside: success
        ),
    ]

    static let validation: @Sendable (inout FillContext) -> Void = { $0.fetch.validating = $0.stored() }
    static let ofPrincipal: @Sendable (inout FillContext) -> Void = {
        $0.fetch.validating = $0.stored(isCommon: false)
    }
    static let bearer: HTTPFields = [.authorization: "Bearer x"]

    static let validating = [
        FillCase("304 with the stored validator", .freshens, .notModified, [.eTag: "\"1\""], beside: validation),
        FillCase("304 without a validator", .freshens, .notModified, beside: validation),
        FillCase("304 with another validator", .asksAgain, .notModified, [.eTag: "\"2\""], beside: validation),
        FillCase(
            "304 with the caller's own validator",
            .passes(.statusAboutRequest),
            .notModified,
            [.eTag: "\"2\""],
            to: [.ifNoneMatch: "\"2\""],
            beside: validation
        ),
        FillCase(
            "304 with a validator of neither",
            .asksAgain,
            .notModified,
            [.eTag: "\"3\""],
            to: [.ifNoneMatch: "\"2\""],
            beside: validation
        ),
        FillCase(
            "304 without a validator, if the caller sent its own",
            .asksAgain,
            .notModified,
            to: [.ifNoneMatch: "\"2\""],
            beside: validation
        ),
        FillCase("304 with no-store", .confirms, .notModified, [.cacheControl: "no-store"], beside: validation),
        FillCase(
            "304 with private in a shared cache",
            .confirms,
            .notModified,
            [
                .cacheControl: "private"
            ],
            kind: .shared,
            beside: validation
        ),
        FillCase(
            "304 that repeats a secret",
            .confirms,
            .notModified,
            [.contentLocation: "/feed?token=opensesame"],
            change: token,
            beside: ofPrincipal
        ),
        FillCase("304 about a principal's own response", .freshens, .notModified, to: bearer, beside: ofPrincipal),
        FillCase(
            "304 about a response for all, to a principal",
            .freshens,
            .notModified,
            [
                .cacheControl: "public, max-age=60"
            ],
            to: bearer,
            beside: validation
        ),
        FillCase(
            "304 that makes a response for all one principal's",
            .asksAgain,
            .notModified,
            [
                .cacheControl: "max-age=60"
            ],
            to: bearer,
            beside: validation
        ),
        FillCase(
            "304 that makes a response for all private",
            .asksAgain,
            .notModified,
            [
                .cacheControl: "private"
            ],
            to: bearer,
            beside: validation
        ),
        FillCase("a whole new response", .stores, .ok, lasting, beside: validation),
        FillCase(
            "a new response that may not be stored",
            .passes(.responseNoStore),
            .ok,
            [
                .cacheControl: "no-store"
            ],
            beside: validation
        ),
        FillCase(
            "404 in place of a stored success",
            .passes(.storedSuccess),
            .notFound,
            lasting,
            beside: {
                validation(&$0)
                success(&$0)
            }
        ),
        FillCase(
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
