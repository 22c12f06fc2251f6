import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import TestSupport
import Testing

/// Real connections that close, break off or are held while an application uses them.
@Suite(.timeLimit(.minutes(20))) struct ConnectionScenarioTests {
    private struct Send: Endpoint {
        typealias Response = NoContent
        let baseURL: String
        let path: String
        var method: HTTPRequest.Method = .post
        var task: HTTPTask
        var isIdempotent = false
        var redirects = RedirectPolicy.always
    }

    private func withFile(_ bytes: Int, _ body: (String) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/file"
        if bytes > 0 { try Data(repeating: 7, count: bytes).write(to: URL(filePath: path)) }
        try await body(path)
    }

    // MARK: Connections that close before a response

    /// A GET is sent once more at the hop that lost its connection. A POST and a file are not.
    @Test func lostConnectionRepeatsOneHop() async throws {
        try await ClientFixture.run { fixture async throws in
            fixture.origin.force(.hangUp, path: "/echo/to")
            let endpoint = fixture.get("/redirect?to=/echo/to")
            let emission = try await fixture.client.fetch(endpoint)
            #expect(emission.source == .network && emission.status == .ok)
            #expect(fixture.origin.requestCount(path: "/redirect") == 1)
            #expect(fixture.origin.requestCount(path: "/echo/to") == 2)
        }
    }

    @Test func lostConnectionSendsNoContentTwice() async throws {
        try await withFile(1_000) { file async throws in
            try await ClientFixture.run(.init(retry: RetryPlan(limit: 2, delay: .zero))) { fixture async throws in
                let tasks: [HTTPTask] = [.json(["amount": 1]), .file(file)]
                for (number, task) in tasks.enumerated() {
                    fixture.origin.force(.hangUp, path: "/echo/\(number)")
                    let error = await failure {
                        let send = Send(baseURL: fixture.origin.baseURL, path: "/echo/\(number)", task: task)
                        _ = try await fixture.client.fetch(send)
                    }
                    #expect(error?.code == .originUnreachable, "\(error?.description ?? "no error")")
                    #expect(fixture.origin.requestCount(path: "/echo/\(number)") == 1)
                }
                // The policy can read a file again; the transport cannot.
                fixture.origin.force(.hangUp, path: "/echo/put")
                let put = Send(
                    baseURL: fixture.origin.baseURL,
                    path: "/echo/put",
                    method: .put,
                    task: .file(file),
                    isIdempotent: true
                )
                _ = try await fixture.client.fetch(put)
                #expect(fixture.origin.requestCount(path: "/echo/put") == 2)
                #expect(fixture.origin.requests.last?.fields.contains { $0.value == "1000" } == true)
            }
        }
    }

    /// The server restarts between two requests: thirty kept connections are gone.
    @Test func restartedServerIsNoOutage() async throws {
        try await ClientFixture.run { fixture async throws in
            for round in 1...2 {
                try await withThrowingTaskGroup(of: CacheResponse.Source.self) { group in
                    for number in 0..<30 {
                        group.addTask {
                            try await fixture.client.fetch(fixture.get("/echo/\(number)"), .networkOnly).source
                        }
                    }
                    for try await source in group { #expect(source == .network, "\(round)") }
                }
                if round == 1 {
                    await fixture.origin.stop()
                    try await fixture.origin.restart()
                }
            }
        }
    }

    // MARK: Content that breaks off

    /// The content of a redirect's target breaks off twice: first it is fetched again, then the
    /// stored value is shown.
    @Test func brokenTargetIsFetchedAgainThenReadFromTheStore() async throws {
        try await ClientFixture.run(.init(retry: RetryPlan(limit: 1, delay: .zero))) { fixture async throws in
            let endpoint = fixture.get("/redirect?to=/counter&max-age=60")
            fixture.origin.force(.truncate(after: 3), path: "/counter")
            let first = try await fixture.client.fetch(endpoint, .networkFirst)
            #expect(first.source == .network && fixture.origin.requestCount(path: "/counter") == 2)
            fixture.origin.force(.truncate(after: 3), times: 2, path: "/counter")
            let second = try await fixture.client.fetch(endpoint, .networkFirst)
            #expect(second.value == first.value && second.source == .store)
            #expect(fixture.origin.requestCount(path: "/counter") == 4)
            await fixture.origin.stop()
            let third = try await fixture.client.fetch(endpoint, .networkFirst)
            #expect(third.value == first.value)
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(endpoint, .networkOnly) }
            try await fixture.origin.restart()
            fixture.client.mode = .online
            #expect(try await fixture.client.fetch(endpoint, .networkOnly).value != first.value)
        }
    }

    // MARK: The end of an application

    /// The application quits in the middle of a download, and continues it after its next launch.
    @Test(arguments: [false, true]) func downloadContinuesAfterTheNextLaunch(isRedirected: Bool) async throws {
        try await withFile(0) { file async throws in
            try await ClientFixture.run { fixture async throws in
                let path = "/bytes/100000"
                let endpoint = fixture.get(isRedirected ? "/redirect?status=307&to=\(path)" : path)
                fixture.origin.force(.holdBody(after: 60_000, OriginGate()), path: path)
                let hasBegun = HoldfastTesting.Gate()
                let download = Task {
                    await failure {
                        _ = try await fixture.client.download(endpoint, to: DownloadDestination(file)) {
                            if $0.completed == 60_000 { hasBegun.open() }
                        }
                    }
                }
                try await hasBegun.wait()
                try await fixture.client.close()
                #expect(await download.value?.code == .closed)
                #expect(!FileManager.default.fileExists(atPath: file))
                await fixture.origin.waitUntilCancelled()
                let relaunched = try await ClientFixture.open(fixture.folder, fixture.clock)
                let whole = try await relaunched.download(endpoint, to: DownloadDestination(file))
                #expect(whole.length == 100_000 && whole.resumedFrom == 60_000)
                #expect(FileManager.default.contents(atPath: file)?.count == 100_000)
                try await relaunched.close()
            }
        }
    }

    /// Thirty uploads, downloads and raw exchanges over connections that the origin holds.
    @Test func everyExchangeEndsAsClosed() async throws {
        try await withFile(200_000) { file async throws in
            try await ClientFixture.run { fixture async throws in
                let (client, url) = (fixture.client, fixture.origin.baseURL)
                let gate = OriginGate()
                fixture.origin.force(.hold(gate), times: 30)
                let codes = try await withThrowingTaskGroup(of: HoldfastError.Code?.self) { group in
                    for number in 0..<10 {
                        group.addTask {
                            let send = Send(baseURL: url, path: "/upload", task: .file(file))
                            return await failure { _ = try await client.fetch(send) }?.code
                        }
                        group.addTask {
                            let target = DownloadDestination("\(file)-\(number)")
                            return await failure {
                                _ = try await client.download(fixture.get("/bytes/\(number + 1)"), to: target)
                            }?.code
                        }
                        group.addTask {
                            await failure {
                                let request = try client.request(for: fixture.get("/echo/\(number)"))
                                _ = try await client.respond(to: request)
                            }?.code
                        }
                    }
                    await gate.waitForArrivals(30)
                    try await client.close()
                    return try await group.reduce(into: [HoldfastError.Code?]()) { $0.append($1) }
                }
                #expect(codes == [HoldfastError.Code?](repeating: .closed, count: 30))
                await fixture.origin.waitUntilCancelled()
                let left = try FileManager.default.contentsOfDirectory(
                    atPath: URL(filePath: file).deletingLastPathComponent().path
                )
                #expect(!left.contains { $0.hasPrefix(URL(filePath: file).lastPathComponent + "-") })
            }
        }
    }
}
