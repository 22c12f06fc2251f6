import Foundation
import HTTPCacheSemantics
import Testing

@Suite("docs/fields.md")
struct FieldPageTests {
    /// docs/fields.md matches the table. `HOLDFAST_WRITE_DOCS=1` writes the page.
    @Test("The page matches the table") func page() throws {
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

    private static func names(_ meaning: RequestFieldTable.Meaning, isSetByGateway: Bool) -> String {
        RequestFieldTable.all.filter { $0.meaning == meaning && $0.isSetByGateway == isSetByGateway }
            .map { "`\($0.name)\($0.isFamily ? "*" : "")`" }.sorted().joined(separator: ", ")
    }

    private static var page: String {
        var lines = [
            "# Request fields", "",
            "How the gateway handles a request's fields, and why. Names are compared without regard to case; a star",
            "stands for any ending. This page is generated from `RequestFieldTable`, and a test compares the two.", "",
            "* **target**, **method**, **identity**, **connection**: dropped. Origins read them as another target, method",
            "  or client than the request's own, and they are not in the key: a page made from one would be stored for",
            "  every client. A client of `clients.trusted` may send those that are not the gateway's own.",
            "* **credential**: passes. The response is stored only if it has `public` or `s-maxage`, and then for every",
            "  client; with `Authorization` and without `Cookie`, `must-revalidate` will do too (RFC 9111 §3.5). With the",
            "  rule setting `store.per` it is stored for the principal only, an HMAC of the field that the setting names.",
            "* **proof**: passes, and makes a request credentialed in the same way. It does not distinguish principals,",
            "  because a response keyed by it would never be found again.",
            "* **ordinary**: passes.",
            "* Names with a `_`, or with any character except letters, digits and hyphens, are dropped, for every",
            "  client: CGI, WSGI, Rack and PHP read `X_Forwarded_Host` as `X-Forwarded-Host`, and some servers write `_`",
            "  in place of the others (`X.Forwarded.Host`). With `clients.underscored-fields: pass` they pass, and the",
            "  request bypasses the store.",
            "* All others pass, and the response is stored. A route with `unknown-fields: drop` drops them; with `bypass`",
            "  a request that has one bypasses the store.", "",
        ]
        for (meaning, reason) in reasons {
            lines += ["## \(meaning.rawValue)", "", "\(reason).", ""]
            let own = names(meaning, isSetByGateway: true)
            if !own.isEmpty { lines += ["The gateway's own, for every client: \(own)", ""] }
            let others = names(meaning, isSetByGateway: false)
            if !others.isEmpty { lines += [own.isEmpty ? others : "Of clients that are not trusted: \(others)", ""] }
        }
        return lines.joined(separator: "\n")
    }
}

/// Compares a page with the text generated for it, or writes it if asked to.
func expectFile(_ path: String, _ content: String) throws {
    if ProcessInfo.processInfo.environment["HOLDFAST_WRITE_DOCS"] != nil {
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == content, "HOLDFAST_WRITE_DOCS=1 writes it")
}
