import HoldfastTesting
import TestSupport
import Testing

@testable import Holdfast

/// The log states once why nothing can be read offline, and suggests a setting.
@Suite(.timeLimit(.minutes(20))) struct UnreadableEndpointsTests {
    private static let url = "https://a.example/x?page=s3cret"
    private static let noStore: HTTPFields = [.cacheControl: "no-store"]

    private struct First: Endpoint {
        typealias Response = String
        var baseURL: String { "https://a.example" }
        var path: String { "/x?page=s3cret" }
        var storage = CacheRequest.Storage.byResponse
    }

    private struct Second: Endpoint {
        typealias Response = String
        var baseURL: String { "https://a.example" }
        var path: String { "/x?page=s3cret" }
    }

    private struct Change: Endpoint {
        typealias Response = String
        var baseURL: String { "https://a.example" }
        var path: String { "/x?page=s3cret" }
        var method: HTTPRequest.Method { .put }
    }

    private func reasons(_ log: CapturedLog) -> [String] { log.lines.filter { $0.contains("advice=") } }

    @Test func thirtyCallsOfOneTypeAreLoggedOnce() async throws {
        let log = CapturedLog()
        try await withTestClient(logger: log.logger(.info)) { test in
            test.transport.script(Self.url, repeating: .ok("one", fields: Self.noStore))
            let client = test.client
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 { group.addTask { _ = try await client.fetch(First()) } }
                try await group.waitForAll()
            }
            _ = try await client.fetch(AnyEndpoint(First()))
            #expect(reasons(log).count == 1)
            let line = try #require(reasons(log).first)
            #expect(line.hasPrefix("Response was not stored advice="))
            #expect(line.contains("'offlineReads'") && line.contains("'.despiteDirectives'"))
            #expect(line.hasSuffix("cache.reason=responseNoStore endpoint=First"))
            _ = try await client.fetch(Second())
            #expect(reasons(log).count == 2, "another type")
            test.transport.script(Self.url, .ok("one", fields: [.vary: "*"]))
            _ = try await client.fetch(Second())
            #expect(reasons(log).count == 3, "another reason")
        }
        #expect(!log.text.contains("s3cret"))
    }

    @Test func adviceHelps() async throws {
        let log = CapturedLog()
        try await withTestClient(.init(offlineReads: .despiteDirectives), logger: log.logger(.info)) { test in
            test.transport.script(Self.url, repeating: .ok("one", fields: Self.noStore))
            _ = try await test.client.fetch(First())
            _ = await test.client.startWith(First()).collected()
        }
        #expect(reasons(log) == [])
    }

    @Test(arguments: ["must-revalidate", "no-cache"]) func directiveAgainstOfflineUseIsLoggedOnce(
        directive: String
    ) async throws {
        let log = CapturedLog()
        try await withTestClient(logger: log.logger(.info)) { test in
            let fields: HTTPFields = [.cacheControl: "max-age=0, private, \(directive)"]
            test.transport.script(Self.url, repeating: .ok("one", fields: fields))
            for _ in 0..<3 { _ = await test.client.startWith(First()).collected() }
            #expect(reasons(log).count == 1)
            let line = try #require(reasons(log).first)
            #expect(line.hasPrefix("Stored response was not used advice="))
            #expect(line.contains("'.despiteDirectives'"))
            #expect(line.hasSuffix("cache.reason=\(directive) endpoint=First"))
        }
    }

    @Test func memoryIsBounded() {
        let endpoints = UnreadableEndpoints()
        let news = (0..<2 * UnreadableEndpoints.limit).filter {
            endpoints.isFirst(.forbidden(by: "\($0)"), of: First())
        }
        #expect(news.count == UnreadableEndpoints.limit)
        #expect(!endpoints.isFirst(.forbidden(by: "0"), of: First()))
    }

    @Test func intendedAndFailedResponsesAreNotLogged() async throws {
        let log = CapturedLog()
        try await withTestClient(logger: log.logger(.info)) { test in
            test.transport.script(
                Self.url,
                .ok("one", fields: Self.noStore),
                .ok("one", fields: Self.noStore),
                .status(.notFound, fields: Self.noStore),
                .ok("one", fields: [.cacheControl: "max-age=60"])
            )
            let never = try await test.client.fetch(First(storage: .never))
            #expect(never.notStored == .bypass)
            _ = try await test.client.fetch(Change())
            await expect(.status) { _ = try await test.client.fetch(First()) }
            _ = try await test.client.fetch(First())
        }
        #expect(reasons(log) == [])
    }
}
