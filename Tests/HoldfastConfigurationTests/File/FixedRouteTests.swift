import HTTPCache
import HTTPTypes
import TestSupport
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Routes with `respond`, and `error-pages`, in a file.
@Suite(.timeLimit(.minutes(20))) struct FixedRouteTests {
    private static let origin = "  - {host: shop.example, origin: \"http://10.0.0.7\"}\n"

    private func load(_ routes: String) throws -> Configuration {
        try Configuration(yaml: "version: 1\nroutes:\n" + routes, file: "f")
    }

    @Test func readsEverySetting() throws {
        let configuration = try load(
            """
              - name: to-https
                host: shop.example
                match: {scheme: http, cookie: {a: [1]}, field: [x-b], query: [c]}
                respond: {status: 301, location: "https://shop.example{path}{query}"}
              - {name: shop, host: shop.example, origin: "http://10.0.0.7"}
              - {path: /gone, respond: {status: 410, body: "<p>Gone", content-type: text/html}}
            clients: {trusted: [127.0.0.1]}

            """
        )
        #expect(configuration.routes.map(\.name) == ["shop"])
        let (first, last) = (
            try #require(configuration.fixedRoutes.first), try #require(configuration.fixedRoutes.last)
        )
        #expect(configuration.fixedRoutes.map(\.position) == [0, 1] && last.path == "/gone" && last.host == nil)
        #expect(first.scheme == "http" && first.conditions.cookies == ["a": ["1"]] && first.isConditional)
        #expect(first.conditions.query == ["c": []] && first.conditions.fields.count == 1)
        #expect(first.answer.location(for: "/a?b") == "https://shop.example/a?b")
        #expect(last.answer == FixedAnswer(status: 410, body: "<p>Gone", contentType: "text/html"))
        let shown = configuration.effective.routes
        #expect(shown.map(\.name) == ["to-https", "shop", "route 3"])
        #expect(shown.first?.settings.map(\.name) == ["respond.status", "respond.location"])
    }

    /// Mutant: `redirect-decodes-the-path`.
    @Test(arguments: [
        ("https://a.example{path}{query}", "/x?y=1&z", "https://a.example/x?y=1&z"),
        ("https://a.example{path}{query}", "/x", "https://a.example/x"),
        ("https://a.example{path}{query}", "//evil.example/x", "https://a.example//evil.example/x"),
        ("https://a.example{path}{query}", "/a%0d%0aSet-Cookie:%20b", "https://a.example/a%0d%0aSet-Cookie:%20b"),
        ("https://a.example{path}{query}", "/%2e%2e/?%00", "https://a.example/%2e%2e/?%00"),
        ("https://a.example{path}{query}", "/a\r\nb?c\u{e9}\0", "https://a.example/a%0D%0Ab?c%C3%A9%00"),
        ("https://a.example{path}", "@evil.example", "https://a.example/@evil.example"),
        ("https://a.example{query}", "/x?y?z", "https://a.example?y?z"),
        ("/new{path}", "//evil.example", "/new//evil.example"), ("/new", "/x?y", "/new"), ("/", "/x?y", "/"),
        ("HTTPS://a.example:8443/b/{query}", "/x?y", "HTTPS://a.example:8443/b/?y"),
    ])
    func locationKeepsTheTarget(_ location: String, _ target: String, _ expected: String) throws {
        let file = try load("  - {respond: {status: 308, location: \"\(location)\"}, path: /old}\n" + Self.origin)
        #expect(file.fixedRoutes.first?.answer.location(for: target) == expected)
    }

    /// Mutant: `location-may-begin-with-a-placeholder`.
    @Test(arguments: [
        "{path}", "/{path}", "//a.example", "/\\\\a.example", "{query}", "https://{path}", "https:{path}",
        "ftp://a.example{path}", "https://a.example{host}", "https://a.example/{", "https://a.example/ b",
        "https://u@a.example{path}", "a", "https://a.example/?b=1{query}", "javascript:alert(1)",
    ])
    func locationsThatARequestCouldTurnElsewhereAreRejected(_ location: String) throws {
        let error = #expect(throws: ConfigurationError.self) {
            try load("  - {path: /old, respond: {status: 302, location: \"\(location)\"}}\n" + Self.origin)
        }
        #expect(error?.findings.map(\.setting) == ["respond"], "\(String(describing: error))")
    }

    @Test(arguments: [
        ("{}", "'status' is missing. Write a status such as 301 or 404."),
        ("{status: 301}", "Status 301 redirects, so it needs a 'location'."),
        (
            "{status: 404, location: \"/x\"}",
            "'location' has no effect with status 404. Use 301, 302, 303, 307 or 308."
        ),
        ("{status: 304}", "Status 304 needs fields that a fixed response does not have. Use another status."),
        ("{status: 401}", "Status 401 needs fields that a fixed response does not have. Use another status."),
        ("{status: 204, body: a}", "A response with status 204 has no content. Remove 'body'."),
        ("{status: 404, content-type: text/html}", "'content-type' has no effect without a 'body'. Remove it."),
        (
            "{status: 404, body: a, content-type: html}",
            "'html' is not a media type such as 'text/html; charset=utf-8'."
        ),
        ("{status: 404, text: a}", "'text' is unknown. Known names: 'status', 'location', 'body', 'content-type'."),
        ("{status: 99}", "Expected a whole number from 200 to 599, not '99'."),
    ])
    func unusableAnswersAreRejected(_ answer: String, _ message: String) {
        let yaml = "version: 1\nroutes:\n  - {path: /old, respond: \(answer)}\n" + Self.origin
        #expect(findings(yaml, file: "f") == ["f:3: route 1: respond: \(message)"])
    }

    @Test func longBodyIsRejected() {
        let body = String(repeating: "a", count: FixedAnswer.bodyLimit + 1)
        let yaml = "version: 1\nroutes:\n  - {path: /old, respond: {status: 404, body: \(body)}}\n" + Self.origin
        #expect(findings(yaml, file: "f") == ["f:3: route 1: respond: 'body' has 4097 bytes. The limit is 4096."])
    }

    /// Mutant: `hidden-routes-are-accepted`.
    @Test(arguments: [
        (
            "  - {name: a, respond: {status: 404}}\n  - {name: b, origin: \"http://b\"}\n",
            [
                "f:4: route 'b': No request can reach it: route 'a' (line 3) comes first and matches all of its requests. Move it up, or remove it."
            ]
        ),
        (
            "  - {name: b, origin: \"http://b\"}\n  - {name: a, path: /x, respond: {status: 404}}\n",
            [
                "f:4: route 'a': No request can reach it: route 'b' (line 3) comes first and matches all of its requests. Move it up, or remove it."
            ]
        ),
        (
            "  - {name: a, path: /x, respond: {status: 404}}\n  - {name: c, path: /x/y, respond: {status: 410}}\n  - {name: b, origin: \"http://b\"}\n",
            [
                "f:4: route 'c': No request can reach it: route 'a' (line 3) comes first and matches all of its requests. Move it up, or remove it."
            ]
        ),
        ("  - {name: a, match: {scheme: http}, respond: {status: 404}}\n  - {name: b, origin: \"http://b\"}\n", []),
        // A gateway may answer all requests itself.
        ("  - {name: a, respond: {status: 404}}\n", []),
        (
            "  - {path: /x, respond: {status: 404}, origin: \"http://b\"}\n  - {origin: \"http://b\"}\n",
            ["f:3: route 1: origin: It has no effect in a route with 'respond', which never asks an origin. Remove it."]
        ),
        (
            "  - {path: /x, match: {scheme: http}, origin: \"http://b\"}\n",
            ["f:3: route 1: match: Only a route with 'respond' can have it. Use 'match' in a rule."]
        ),
        (
            "  - {path: /x, match: {}, respond: {status: 404}}\n  - {origin: \"http://b\"}\n",
            ["f:3: route 1: match: It has no conditions. Add one, or remove 'match'."]
        ),
        (
            "  - {path: /x, match: {field: {authorization: [a]}}, respond: {status: 404}}\n  - {origin: \"http://b\"}\n",
            [
                "f:3: route 1: match.field: 'authorization' holds a secret, so its value must not be in this file. Write its name alone."
            ]
        ),
        (
            "  - {path: x, host: a b, respond: {status: 404}}\n  - {origin: \"http://b\"}\n",
            [
                "f:3: route 1: path: 'x' does not begin with a slash. Write '/x'.",
                "f:3: route 1: host: 'a b' is not a host such as 'api.local', 'api.local:8080' or '*.example.com'.",
            ]
        ),
        (
            "  - {name: b, path: /x, respond: {status: 404}}\n  - {name: b, origin: \"http://b\"}\n",
            ["f:3: route 'b': name: Another route has this name. Rename one of them."]
        ),
    ])
    func combinationsWithoutEffectAreRejected(_ routes: String, _ expected: [String]) {
        #expect(findings("version: 1\nroutes:\n" + routes, file: "f") == expected)
    }

    /// Mutant: `unknown-placeholders-are-text`.
    @Test(arguments: [
        ("https://a.example{paht}", "The placeholder '{paht}' is unknown. Did you mean '{path}'? "),
        ("https://a.example/{host}{path}", "The placeholder '{host}' is unknown. "),
    ])
    func unknownPlaceholdersOfLocationsAreNamed(_ location: String, _ words: String) {
        let route = "  - {path: /old, respond: {status: 302, location: \"\(location)\"}}\n"
        let known = "Known placeholders: '{path}', '{query}'."
        #expect(findings("version: 1\nroutes:\n" + route, file: "f") == ["f:3: route 1: respond: \(words)\(known)"])
    }

    // MARK: Pages

    private func pages(_ setting: String, in folder: TemporaryFolder) -> [String] {
        let yaml = "version: 1\nroutes: [{origin: \"http://b\", error-pages: \(setting)}]\n"
        return findings(yaml, file: folder.path + "/f").map { String($0.dropFirst(folder.path.count + 1)) }
    }

    /// Mutant: `placeholders-in-code-pass`.
    @Test(
        arguments: [
            ("<a href=\"{url}\" title='{title} {detail}'>{url}</a>", nil), ("<!-- <b a={url}> -->{title}", nil),
            ("1 < 2 {url} </p><p on = \"a\">{url}", nil), ("<p>onclick=\"{url}\"<style>a{b}</style>{url}", nil),
            ("<script>let a = '{url}'</script>", "{url}"), ("<p><SCRIPT src=a>`${title}`</SCRIPT>", "{title}"),
            ("<script>{detail}", "{detail}"), ("<style>a{content:'{status}'}</style>", "{status}"),
            ("<a href={url}>", "{url}"), ("<a href=\"b\"{title}>", "{title}"),
            ("<a\nonClick = \"b('{url}')\">", "{url}"),
            ("<iframe srcdoc='{detail}'>", "{detail}"), ("<p {last-contact}", "{last-contact}"),
            ("<b style=\"color:{status}\">", "{status}"),
        ] as [(String, String?)]
    )
    func placeholdersInCodeAreRejected(_ page: String, _ placeholder: String?) throws {
        let folder = try TemporaryFolder()
        try writeFile(folder.path + "/page.html", Array(page.utf8))
        let found = pages("{error: page.html}", in: folder)
        #expect(found.count == (placeholder == nil ? 0 : 1), "\(found)")
        guard let placeholder else { return }
        let start =
            "f:2: route 1: error-pages.error: The file '\(folder.path)/page.html' has '\(placeholder)' in a script, "
        #expect(found.first?.hasPrefix(start) == true, "\(found)")
    }

    /// Mutant: `page-has-any-size`.
    @Test func filesThatCannotBeUsedAreFindings() throws {
        let folder = try TemporaryFolder()
        let limit = Configuration.ErrorPages.sizeLimit
        try writeFile(folder.path + "/a.html", Array(repeating: 0x61, count: limit))
        try writeFile(folder.path + "/large.html", Array(repeating: 0x61, count: limit + 1))
        try writeFile(folder.path + "/latin1.html", [0x61, 0xE9])
        try writeFile(folder.path + "/many.html", Array(String(repeating: "{url}", count: 17).utf8))
        let filler = String(repeating: "a", count: Configuration.ErrorPages.filledSizeLimit)
        try writeFile(folder.path + "/filled.html", Array((filler + "{url}").utf8))
        #expect(pages("{offline: a.html, error: a.html}", in: folder) == [])
        let start = "f:2: route 1: error-pages.offline: The file "
        for (file, message) in [
            ("none.html", "cannot be opened: No such file or directory."),
            ("large.html", "is too large. The limit is 262144 bytes."),
            ("latin1.html", "is not UTF-8. Save it as UTF-8."),
            ("many.html", "has 17 placeholders. The limit is 16."),
            (
                "filled.html",
                "has placeholders and 32773 bytes. The limit with placeholders is 32768."
            ),
            (".", "is not a file."),
        ] {
            #expect(pages("{offline: \(file)}", in: folder) == ["\(start)'\(folder.path)/\(file)' \(message)"])
        }
        // Braces of styles and scripts, and those that hold no name, are text.
        let code = "<STYLE>a{color:red}b{c}</style><script>if(a){b}</script>a { b } {} {1} ${c} {title}"
        try writeFile(folder.path + "/code.html", Array(code.utf8))
        #expect(pages("{offline: code.html}", in: folder) == [])
        for text in ["<p>{staus}", "{{staus}}", "<script>{a}</script>{staus}"] {
            try writeFile(folder.path + "/typo.html", Array(text.utf8))
            let known = "'{status}', '{title}', '{detail}', '{url}', '{last-contact}'"
            let message =
                "The placeholder '{staus}' is unknown. Did you mean '{status}'? Known placeholders: \(known). Write '&#123;' for a brace."
            #expect(pages("{offline: typo.html}", in: folder) == ["\(start)'\(folder.path)/typo.html': \(message)"])
        }
        #expect(
            pages("{}", in: folder) == [
                "f:2: route 1: error-pages: It names no file. Write 'offline' or 'error', or remove it."
            ]
        )
        #expect(
            pages("{offlin: a.html}", in: folder) == [
                "f:2: route 1: error-pages: 'offlin' is unknown. Did you mean 'offline'? Known names: 'offline', 'error'."
            ]
        )
    }
}
