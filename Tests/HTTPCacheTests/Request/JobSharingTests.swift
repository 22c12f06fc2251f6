import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

/// Clients that ask the same at once while a job is recorded.
@Suite(.timeLimit(.minutes(20))) struct JobSharingTests {
    private let url = EngineFixture.url

    private func recording() -> EngineFixture {
        var use = JobRun.Use()
        use.comparesIdentities = true
        use.keysPosts = true
        return EngineFixture(kind: .shared, job: JobRun(partition: "one", use))
    }

    private func request(
        _ fixture: EngineFixture,
        _ method: HTTPRequest.Method,
        _ fields: HTTPFields
    ) throws -> CacheRequest {
        var request = try fixture.request(url, fields, method: method)
        if method == .post { request.body = .buffer(ByteBuffer(string: #"{"prompt":"Hello"}"#)) }
        return request
    }

    private func text(_ response: CacheResponse) async throws -> String {
        String(buffer: try await response.body.collect(upTo: 1 << 20))
    }

    /// Without rules, requests of a recording have no settings of their own, which would slow them
    /// down.
    @Test func settingsOfRecordingChangeNoDefaults() {
        let settings = JobSettings(keysContent: false, isAsRecorded: false)
        var changed = ExchangeSettings()
        settings.apply(to: &changed)
        #expect(!settings.changesDefaults && changed == ExchangeSettings())
    }

    /// The directives of requests and responses.
    private static let directives = ["", "no-cache", "max-age=0, must-revalidate"]

    /// Mutant: directives keep requests of a recording apart.
    @Test(arguments: [HTTPRequest.Method.get, .post], JobSharingTests.directives)
    func thirtyClientsShareOneFetch(_ method: HTTPRequest.Method, _ directive: String) async throws {
        for asked in Self.directives {
            let fixture = recording()
            let gate = Gate()
            let head: HTTPFields = directive.isEmpty ? [:] : [.cacheControl: directive]
            fixture.transport.script(url) { _ in .ok("answer", fields: head, beforeEnd: gate) }
            var responses: [CacheResponse] = []
            // Each waits for the head, so all but the first one join a response that is arriving.
            for number in 0..<30 {
                var fields: HTTPFields = [.authorization: "Bearer 5ecret", .cookie: "__cf_bm=\(number)"]
                if !asked.isEmpty { fields[.cacheControl] = asked }
                responses.append(try await fixture.engine.respond(to: request(fixture, method, fields)))
            }
            gate.open()
            for response in responses { #expect(try await text(response) == "answer") }
            #expect(fixture.transport.requests.count == 1, "\(method) '\(asked)'")
            #expect(responses.filter(\.outcome.isCollapsed).count == 29)
            await fixture.untilIdle()
        }
    }

    /// A client that waits for the head does not get another variant.
    @Test func variantsAreToldApart() async throws {
        let fixture = recording()
        let gate = Gate()
        fixture.transport.script(url) { received in
            let language = received.head.headerFields[.acceptLanguage] ?? ""
            return .ok(language, fields: [.cacheControl: "no-cache", .vary: "Accept-Language"], beforeHead: gate)
        }
        let requests = try (0..<30).map { number in
            try request(fixture, .get, [.acceptLanguage: number % 2 == 0 ? "de" : "en", .cacheControl: "no-cache"])
        }
        let responses = Task {
            try await withThrowingTaskGroup(of: String.self) { group in
                for request in requests { group.addTask { try await text(fixture.engine.respond(to: request)) } }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
        }
        while fixture.transport.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        gate.open()
        let texts = try await responses.value.sorted()
        #expect(texts == Array(repeating: "de", count: 15) + Array(repeating: "en", count: 15))
        await fixture.untilIdle()
    }

    /// Without a job, a response that requires validation serves only the client whose request was
    /// sent. RFC 9111 §4
    @Test func directivesCountWithoutAJob() async throws {
        let fixture = EngineFixture(kind: .shared)
        let gate = Gate()
        fixture.transport.script(url) { _ in .ok("answer", fields: [.cacheControl: "max-age=60"], beforeEnd: gate) }
        var responses: [CacheResponse] = []
        for _ in 0..<2 {
            responses.append(try await fixture.engine.respond(to: request(fixture, .get, [.cacheControl: "no-cache"])))
        }
        gate.open()
        for response in responses { #expect(try await text(response) == "answer") }
        #expect(fixture.transport.requests.count == 2)
        await fixture.untilIdle()
    }
}
