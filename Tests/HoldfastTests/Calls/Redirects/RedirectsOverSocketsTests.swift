import Foundation
import Holdfast
import SampleOrigin
import TestSupport
import Testing

@testable import HoldfastTesting

/// Redirects over real connections.
@Suite(.timeLimit(.minutes(20))) struct RedirectsOverSocketsTests {
    /// The request as the origin saw it.
    private struct Echo: Decodable, Sendable {
        var target: String
        var fields: [[String]]

        func values(_ name: String) -> [String] {
            fields.filter { $0.first?.lowercased() == name }.compactMap(\.last)
        }
    }

    private struct Redirected: Endpoint {
        typealias Response = Echo
        let baseURL: String
        let path: String
        let headers: HTTPFields
    }

    /// Thirty calls with thirty tokens, whose redirects are all under way at the same time.
    @Test(arguments: [301, 302, 303, 307, 308], [true, false])
    func thirtyConnectionsKeepTheirCredentials(status: Int, isSameOrigin: Bool) async throws {
        try await ClientFixture.run { fixture in
            try await SampleOrigin.withOrigin { other in
                let host = isSameOrigin ? "" : "//\(other.authority)"
                let gate = OriginGate()
                fixture.origin.force(.hold(gate), times: 30, path: "/redirect")
                try await withThrowingTaskGroup(of: (Int, Echo).self) { group in
                    for number in 0..<30 {
                        let endpoint = Redirected(
                            baseURL: fixture.origin.baseURL,
                            path: "/redirect?status=\(status)&to=\(host)/echo/\(number)",
                            headers: [.authorization: "Bearer \(number)", .acceptLanguage: "x-\(number)"]
                        )
                        group.addTask { (number, try await fixture.client.fetch(endpoint).value) }
                    }
                    await gate.waitForArrivals(30)
                    gate.open()
                    for try await (number, echo) in group {
                        #expect(echo.target == "/echo/\(number)" && echo.values("accept-language") == ["x-\(number)"])
                        #expect(echo.values("authorization") == (isSameOrigin ? ["Bearer \(number)"] : []))
                    }
                }
                #expect(fixture.origin.requestCount == (isSameOrigin ? 60 : 30))
                #expect(other.requestCount == (isSameOrigin ? 0 : 30))
            }
        }
    }

    private static let redirect = Array(
        "HTTP/1.1 301 Moved\r\nlocation: /to\r\ncache-control: max-age=60\r\ncontent-length: 5\r\n\r\nmoved".utf8
    )
    private static let target = Array(
        "HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\ncontent-length: 5\r\n\r\nvalue".utf8
    )

    /// Bytes of a message's head, with the empty line.
    private static func headLength(_ message: [UInt8]) -> Int { message.count - 5 }

    private func response(_ bytes: some Sequence<UInt8>, closes: Bool) -> ScriptedOrigin.Response {
        ScriptedOrigin.Response(String(decoding: Array(bytes), as: UTF8.self), closes: closes)
    }

    /// Runs one call against an origin with these responses, and then one without a network.
    ///
    /// - Returns: the value, the paths that were asked, and the value without a network.
    private func fetch(_ responses: [ScriptedOrigin.Response]) async throws -> (String?, [String], String?) {
        let origin = try await ScriptedOrigin.start(responses)
        let folder = try TemporaryFolder()
        let client = try await ClientFixture.open(folder.store, ManualClock())
        let endpoint = PathEndpoint(baseURL: "http://\(origin.authority)", path: "/from")
        let value = try? await client.fetch(endpoint).value
        client.mode = .offline
        let stored = try? await client.fetch(endpoint).value
        try await client.close()
        await origin.stop()
        let paths = origin.requests.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
        return (value, paths, stored)
    }

    /// A redirect is followed when its head is complete, and stored when its body is.
    @Test func redirectIsCutAtEveryByte() async throws {
        let (message, head) = (Self.redirect, Self.headLength(Self.redirect))
        for cut in 1...message.count {
            let isFollowed = cut >= head
            let cutResponse = response(message.prefix(cut), closes: cut < message.count)
            // An incomplete head may be requested once more, and is cut again.
            let next = isFollowed ? response(Self.target, closes: false) : cutResponse
            let (value, paths, stored) = try await fetch([cutResponse, next])
            #expect(value == (isFollowed ? "value" : nil), "\(cut)")
            #expect(isFollowed ? paths == ["/from", "/to"] : Set(paths) == ["/from"], "\(cut): \(paths)")
            #expect(stored == (cut == message.count ? "value" : nil), "\(cut)")
        }
    }

    @Test func targetIsCutAtEveryByte() async throws {
        let message = Self.target
        for cut in 1...message.count {
            let first = response(Self.redirect, closes: false)
            let cutResponse = response(message.prefix(cut), closes: cut < message.count)
            let (value, paths, stored) = try await fetch([first, cutResponse, cutResponse])
            let isWhole = cut == message.count
            #expect(value == (isWhole ? "value" : nil), "\(cut)")
            #expect(paths.first == "/from" && Set(paths.dropFirst()) == ["/to"], "\(cut): \(paths)")
            #expect(stored == (isWhole ? "value" : nil), "\(cut)")
        }
    }

    // MARK: Downloads

    /// A download whose redirect leads elsewhere each time, as signed URLs do.
    @Test(arguments: [true, false]) func downloadIsResumedOverRedirects(isSameOrigin: Bool) async throws {
        try await ClientFixture.run { fixture in
            try await SampleOrigin.withOrigin { other in
                let serving = isSameOrigin ? fixture.origin : other
                let path = fixture.folder + "-film.bin"
                defer { try? FileManager.default.removeItem(atPath: path) }
                let endpoint = PathEndpoint(
                    baseURL: fixture.origin.baseURL,
                    path: "/redirect?to=//\(serving.authority)/bytes/100000",
                    headers: [.authorization: "Bearer secret"]
                )
                serving.force(.truncate(after: 60_000), path: "/bytes/100000")
                await expect(.truncated) {
                    _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
                }
                let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
                #expect(file.length == 100_000 && file.resumedFrom > 0 && file.head.status == .partialContent)
                #expect(fixture.origin.requestCount(path: "/redirect") == 2)
                #expect(FileManager.default.contents(atPath: path)?.count == 100_000)
            }
        }
    }
}
