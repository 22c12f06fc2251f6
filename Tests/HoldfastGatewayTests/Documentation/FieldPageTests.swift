import Foundation
import HTTPCacheSemantics
import Testing

/// docs/fields.md.
struct FieldPageTests {
    /// docs/fields.md matches the table. `HOLDFAST_WRITE_DOCS=1` writes the page.
    @Test func fieldPageMatchesTheTable() throws {
        let path = #filePath.replacing(
            "Tests/HoldfastGatewayTests/Documentation/FieldPageTests.swift",
            with: "docs/fields.md"
        )
        try expectFile(path, Self.page)
    }

    private static let reasons: [(RequestFieldTable.Meaning, String)] = [
        (.target, "Origins read these as the target or part of it: host, path, scheme, prefix or handler"),
        (.method, "Origins read these as the method"),
        (.identity, "These say who the client is or where it is, on behalf of a proxy in front of the origin"),
        (.connection, "These concern the connection"),
        (.credential, "These say on whose behalf the request is made"),
        (.proof, "These accompany a credential, with a new value in each request"),
        (.ordinary, "These describe what the client wants, supports or is"),
    ]

    private static let intro = """
        # Request fields

        How the gateway treats request fields, by class. Names are compared without regard to case; `*`
        matches any ending. This page is generated from `RequestFieldTable`, and a test compares the
        two.

        | Class | Treatment |
        |---|---|
        | [target](#target), [method](#method), [identity](#identity), [connection](#connection) | dropped, because origins may read these fields as a different target, method or client. They are not in the key, so a response that depends on one would be stored for every client. Clients in `clients.trusted` may send them, except those that [the gateway sets](listeners.md#proxies-in-front) or drops for every client |
        | [credential](#credential) | forwarded. The response is stored only if it [allows sharing](listeners.md#credentials), or, with the rule setting `store.per`, for one principal (an HMAC of the field that the setting names) |
        | [proof](#proof) | forwarded. The request counts as credentialed. The field does not distinguish principals, because its value changes with every request |
        | [ordinary](#ordinary) | forwarded |
        | not listed | forwarded, and the response is stored. A route with `unknown-fields: drop` drops the field; with `bypass`, the request bypasses the store |
        | names with a `_`, or any character except letters, digits and hyphens | dropped for every client: CGI, WSGI, Rack and PHP read `X_Forwarded_Host` as `X-Forwarded-Host`, and some servers replace other characters with `_` (`X.Forwarded.Host`). With `clients.underscored-fields: pass`, the field is forwarded and the request bypasses the store |

        """

    private static func names(_ meaning: RequestFieldTable.Meaning, isSetByGateway: Bool) -> String {
        RequestFieldTable.all.filter { $0.meaning == meaning && $0.isSetByGateway == isSetByGateway }
            .map { "`\($0.name)\($0.isFamily ? "*" : "")`" }.sorted().joined(separator: ", ")
    }

    private static var page: String {
        var lines = intro.components(separatedBy: "\n")
        for (meaning, reason) in reasons {
            lines += ["## \(meaning.rawValue)", "", "\(reason).", ""]
            let own = names(meaning, isSetByGateway: true)
            if !own.isEmpty { lines += ["Set or dropped by the gateway, for every client: \(own)", ""] }
            let others = names(meaning, isSetByGateway: false)
            if !others.isEmpty { lines += [own.isEmpty ? others : "Dropped for untrusted clients: \(others)", ""] }
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
