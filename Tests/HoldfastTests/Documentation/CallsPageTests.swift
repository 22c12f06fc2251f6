import Holdfast
import HoldfastTesting
import Testing

/// The page "Calls".
@Suite(.timeLimit(.minutes(20))) struct CallsPageTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    struct Draft: Codable, Sendable { var title: String }

    struct CreateMoment: Endpoint {
        let draft: Draft
        var path: String { "/moments" }
        var task: HTTPTask { .encodable(draft) }
        var redirects: RedirectPolicy { .always }
    }

    @Test func redirectsOfThePageAreFollowed() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            let host = "https://api.example.com"
            test.transport.script(host + "/moments", .redirect(303, to: "/moments/1"))
            test.transport.script(host + "/moments/1", .ok("{}"))
            let created = try await client.fetch(CreateMoment(draft: Draft(title: "Storm")))
            #expect(created.status == .ok && test.transport.requests.map(\.method) == [.post, .get])

            test.transport.script(GettingStartedTests.url, .redirect(302, to: "/elsewhere"))
            let move = client.call(GetFeed(userID: "harbour"), as: NoContent.self).accepting([302])
            let location = try await move.fetch(.networkOnly).fields[.location]
            #expect(location == "/elsewhere")
        }
    }
}
