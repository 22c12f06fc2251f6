import Crypto
import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HoldfastGateway

/// The page of a problem, as a value.
@Suite(.timeLimit(.minutes(20))) struct ProblemPageTests {
    private static let script = "http://g/?a=<script>alert('x')</script>&\"b\""

    private func page(
        isOutage: Bool = true,
        retries: Bool = true,
        lastContact: Timestamp? = Timestamp(seconds: 784_111_777)
    ) -> ProblemPage {
        var problem = Problem(code: "a-code", title: "<b>", status: 504, detail: "The origin of '\(Self.script)'.")
        problem.isOutage = isOutage
        return ProblemPage(
            problem: problem,
            url: Self.script,
            lastContact: lastContact,
            requestID: "id<1>",
            retries: retries
        )
    }

    private func text(_ page: ProblemPage, _ template: String? = nil) -> String {
        String(buffer: page.html(template.map { RoutePage(ProblemPage.Template($0)) }))
    }

    /// Mutant: `html-is-not-escaped`.
    @Test(arguments: [true, false]) func escapesEveryValue(isOutage: Bool) {
        for template in [nil, "<title>{title}</title><a href='{url}'>{detail}</a>"] {
            let html = text(page(isOutage: isOutage), template)
            #expect(!html.contains("<script") && !html.contains("<b>") && !html.contains("<1>"), "\(html)")
            #expect(html.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;b&quot;"), "\(html)")
        }
    }

    @Test func saysWhenTheOriginLastResponded() {
        #expect(text(page()).contains("last responded on Sun, 06 Nov 1994 08:49:37 GMT."))
        #expect(!text(page(lastContact: nil)).contains("last responded"))
        #expect(!text(page(isOutage: false)).contains("last responded"))
    }

    @Test func onlySomePagesRetry() {
        #expect(text(page()).contains("tries again every 15 seconds"))
        #expect(!text(page(retries: false)).contains("tries again"))
    }

    /// The policy of the page allows its style by the digest.
    @Test func policyAllowsTheStyle() {
        let digest = WebSocketKey.base64(Array(SHA256.hash(data: Array(ProblemPage.style.utf8))))
        #expect(ProblemPage.styleDigest == digest)
        #expect(text(page()).contains("<style>\(ProblemPage.style)</style>"))
        #expect(!text(page()).contains("style=") && !text(page()).contains("src="))
    }

    @Test func fillsEachPlaceholder() {
        let template = "{status}|{last-contact}|{url}{url}|{unknown}|a{color:red}|{{status}}|{"
        let url = Self.script.escapedForHTML
        let rest = "|\(url)\(url)|{unknown}|a{color:red}|{504}|{"
        #expect(text(page(), template) == "504|Sun, 06 Nov 1994 08:49:37 GMT" + rest)
        #expect(text(page(lastContact: nil), template) == "504|unknown" + rest)
        #expect(text(page(), "") == "")
        // Responses share a page without placeholders.
        #expect(RoutePage(ProblemPage.Template("a {b}")).whole == ByteBuffer(string: "a {b}"))
        #expect(RoutePage(ProblemPage.Template("a {url}")).whole == nil)
    }
}
