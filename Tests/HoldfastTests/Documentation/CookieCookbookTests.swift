import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Testing

/// The cookbook's files for sites with cookies.
@Suite(.timeLimit(.minutes(20))) struct CookieCookbookTests {
    @Test(arguments: ["22-wordpress.yaml", "23-django.yaml"]) func visitorsWithAnyCookiesShareAPage(_ file: String)
        async throws
    {
        let kitchen = try Kitchen(file)
        let url = "https://www.example.com/2026/post"
        kitchen.transport.script(url, .ok("page", fields: [.vary: "Cookie"]))
        try await kitchen.get(url, [.cookie: "_ga=GA1.1; csrftoken=1"])
        for number in 0..<30 {
            let next = try await kitchen.get(url + "?utm_source=x", [.cookie: "_ga=\(number); consent=yes"])
            #expect(next.text == "page" && next.response.outcome.isHit)
        }
        #expect(kitchen.transport.requests.map { $0.headerFields[.cookie] } == [nil])
    }

    @Test(arguments: [
        ("22-wordpress.yaml", "wordpress_logged_in_1=ada"), ("23-django.yaml", "sessionid=ada"),
        ("24-rails.yaml", "_example_session=ada"),
    ]) func usersPagesNeverReachOthers(_ file: String, _ session: String) async throws {
        let kitchen = try Kitchen(file)
        let url = "https://www.example.com/account"
        kitchen.transport.script(url) { request in
            .ok(request.head.headerFields[.cookie] ?? "visitor", fields: [.cacheControl: "public, max-age=60"])
        }
        #expect(try await kitchen.get(url, [.cookie: "_ga=1; \(session)"]).text == session)
        #expect(try await kitchen.stored(url).isEmpty)
        #expect(try await kitchen.get(url, [.cookie: "_ga=2"]).text == "visitor")
    }

    /// Such a request is sent with all its cookies, and is not served from the shared copy.
    @Test(
        arguments: ["22-wordpress.yaml", "23-django.yaml", "24-rails.yaml"],
        ["ab.storage.deviceId=1", "consentid:1,consent:yes", "consent=id:1,yes", "a=1;", "a=1; a=2", ""]
    ) func oneUnreadableCookieMakesCredentials(_ file: String, _ cookie: String) async throws {
        let kitchen = try Kitchen(file)
        let url = "https://www.example.com/articles/1"
        kitchen.transport.script(url, repeating: .ok("page", fields: [.vary: "Cookie"]))
        try await kitchen.get(url)
        #expect(try await kitchen.get(url, [.cookie: "_ga=1"]).response.outcome.isHit)
        #expect(try await !kitchen.get(url, [.cookie: cookie]).response.outcome.isHit)
        #expect(kitchen.transport.requests.map { $0.headerFields[.cookie] } == [nil, cookie])
    }

    /// These sites compare the host that they get with the `Origin` of a form, or redirect to it.
    @Test(arguments: ["22-wordpress.yaml", "23-django.yaml", "24-rails.yaml"]) func sitesGetTheClientsHost(
        _ file: String
    )
        throws
    {
        let configuration = try Configuration(contentsOf: Cookbook.folder + file)
        #expect(configuration.routes.map(\.preservesHost) == [true])
    }

    @Test func loginsAndPreviewsBypassTheStore() async throws {
        let wordPress = try Kitchen("22-wordpress.yaml")
        for url in ["https://www.example.com/wp-login.php", "https://www.example.com/?p=1&preview=true"] {
            wordPress.transport.script(url, repeating: .ok("page", fields: [.cacheControl: "max-age=60"]))
            try await wordPress.get(url)
            #expect(
                try await wordPress.get(url, [.cookie: "wordpress_test_cookie=1"]).response.outcome.forward == .bypass
            )
        }
        let django = try Kitchen("23-django.yaml")
        let url = "https://www.example.com/accounts/login/"
        django.transport.script(url, repeating: .ok("form", fields: [.cacheControl: "max-age=60"]))
        try await django.get(url, [.cookie: "csrftoken=1; sessionid=2"])
        #expect(django.transport.requests.map { $0.headerFields[.cookie] } == ["csrftoken=1; sessionid=2"])
        #expect(try await django.stored(url).isEmpty)
    }

    @Test func pageWithACSRFTokenIsNotShared() async throws {
        let kitchen = try Kitchen("23-django.yaml")
        let url = "https://www.example.com/contact/"
        for token in ["1", "2"] {
            kitchen.transport.script(
                url,
                .ok("form \(token)", fields: [.vary: "Cookie", .setCookie: "csrftoken=\(token)"])
            )
        }
        #expect(try await kitchen.get(url, [.cookie: "csrftoken=0"]).text == "form 1")
        #expect(try await kitchen.get(url).text == "form 2")
    }

    @Test func eachLanguageHasItsCopy() async throws {
        let kitchen = try Kitchen("23-django.yaml")
        let url = "https://www.example.com/"
        kitchen.transport.script(url) { .ok($0.head.headerFields[.cookie] ?? "any") }
        for language in ["django_language=de", "django_language=en"] {
            #expect(try await kitchen.get(url, [.cookie: language]).text == language)
            let again = try await kitchen.get(url, [.cookie: "_ga=1; \(language)"])
            #expect(again.text == language && again.response.outcome.isHit)
        }
        #expect(try await kitchen.get(url, [.cookie: "django_language=fr"]).text == "any")
    }

    @Test func publicPagesAreSharedWithoutTheirSessionCookie() async throws {
        let kitchen = try Kitchen("24-rails.yaml")
        let url = "https://www.example.com/articles/1"
        let fields: HTTPFields = [
            .cacheControl: "max-age=0, private, must-revalidate", .setCookie: "_example_session=1; path=/; HttpOnly",
        ]
        kitchen.transport.script(url, .ok("article", fields: fields))
        #expect(
            try await kitchen.get(url, [.cookie: "_example_session=0"]).response.head.headerFields.contains(.setCookie)
        )
        let next = try await kitchen.get(url, [.cookie: "_ga=1"])
        #expect(next.response.outcome.isHit && !next.response.head.headerFields.contains(.setCookie))
        #expect(kitchen.transport.requests.map { $0.headerFields[.cookie] } == [nil])
    }
}
