import HTTPCacheSemantics
import Testing

@Suite("docs/fields.md")
struct FieldPageTests {
    /// docs/fields.md is what the table says. `HOLDFAST_WRITE_DOCS=1` writes it.
    @Test("The page is what the table says") func page() throws {
        let path = #filePath.replacing("Tests/HoldfastGatewayTests/FieldPageTests.swift", with: "docs/fields.md")
        try expectFile(path, Self.page)
    }

    private static let reasons: [(RequestFieldTable.Meaning, String)] = [
        (.target, "Read as (a part of) the target: its host, path, scheme, prefix, or what handles it"),
        (.method, "Read as the method"),
        (.identity, "Says who asks or from where, in the name of something in front of the origin"),
        (.connection, "About the connection"),
        (.credential, "Says on whose behalf the request is made"),
        (.proof, "Goes with a credential, and is another for each request"),
        (.ordinary, "Says what the client wants, can or is"),
    ]

    private static func names(_ meaning: RequestFieldTable.Meaning, isGateways: Bool) -> String {
        RequestFieldTable.all.filter { $0.meaning == meaning && $0.isGateways == isGateways }
            .map { "`\($0.name)\($0.isFamily ? "*" : "")`" }.sorted().joined(separator: ", ")
    }

    private static var page: String {
        var lines = [
            "# Request fields", "",
            "What the gateway does with a request's fields, and why. Names are compared without regard to case; a star stands for",
            "any ending. This page is made of `RequestFieldTable`, and a test compares the two.", "",
            "* **target**, **method**, **identity**, **connection**: dropped. Origins read them as another target, method or client",
            "  than the request's own, and they are in no key: a page that was made from one would be stored for everybody. A client",
            "  of `clients.trusted` may send those that are not the gateway's own.",
            "* **credential**: passes. What is stored for such a request is kept for its principal, or for everybody where the",
            "  response says `public` or `s-maxage` (RFC 9111 §3.5). The principal is an HMAC of the field.",
            "* **proof**: passes, and makes a request credentialed in the same way. It tells no principals apart, because what is",
            "  keyed by it would never be found again.",
            "* **ordinary**: passes.",
            "* Names with a `_` are dropped, whoever sends them: CGI, WSGI, Rack and PHP read `X_Forwarded_Host` as",
            "  `X-Forwarded-Host`. With `clients.underscored-fields: pass` they pass, and the request goes past the store.",
            "* All others pass, and the response is stored. A route with `unknown-fields: drop` drops them; with `bypass` a request",
            "  that has one goes past the store.", "",
        ]
        for (meaning, reason) in reasons {
            lines += ["## \(meaning.rawValue)", "", "\(reason).", ""]
            let own = names(meaning, isGateways: true)
            if !own.isEmpty { lines += ["The gateway's own, whoever asks: \(own)", ""] }
            let others = names(meaning, isGateways: false)
            if !others.isEmpty { lines += [own.isEmpty ? others : "Of clients that are not trusted: \(others)", ""] }
        }
        return lines.joined(separator: "\n")
    }
}
