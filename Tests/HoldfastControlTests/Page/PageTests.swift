import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing

@testable import HoldfastControl

/// The page's files, and the sessions by which it gets a token.
@Suite(.timeLimit(.minutes(20))) struct PageTests {
    private static let folder = #filePath.replacing(
        "Tests/HoldfastControlTests/Page/PageTests.swift",
        with: "Sources/HoldfastControl/Page/Assets"
    )

    @Test func everyFileOfTheFolderIsEmbedded() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder).sorted()
        let missing = files.filter { PageAssets.embedded[$0] == nil }.map { name in
            let constant = name.replacing(".", with: "_").replacing("-", with: "_")
            return "\"\(name)\": PackageResources.\(constant),"
        }
        #expect(missing.isEmpty, "PageAssets.embedded lacks:\n\(missing.joined(separator: "\n"))")
        #expect(PageAssets.embedded.keys.sorted() == files)
        for file in files {
            let asset = try #require(PageAssets().asset(file), "\(file) has a name or an ending that is not served")
            #expect(try Data(contentsOf: URL(fileURLWithPath: Self.folder + "/" + file)) == Data(asset.bytes))
            #expect(PageAssets(folder: Self.folder).asset(file) == asset)
        }
    }

    @Test(arguments: [
        "", "index", "../Page", "..", ".html", "a.b.js", "a/b.js", "A.js", "a%2e.js", "index.html\0", "index.htm",
        "index.html.",
        "ö.js", "a b.js",
    ]) func otherNamesLeadNowhere(_ name: String) {
        #expect(PageAssets().asset(name) == nil && PageAssets(folder: "/").asset(name) == nil)
    }

    @Test(arguments: TrafficTotals.reasons.dropLast())
    func overviewHasWordsForEachReason(_ reason: String) throws {
        let text = String(decoding: try #require(PageAssets.embedded["view-overview.js"]), as: UTF8.self)
        #expect(text.contains("\n  \(reason): \"") || text.contains("\n  \"\(reason)\": \""))
    }

    @Test func pageIsSmall() {
        #expect(PageAssets.embedded.values.map(\.count).reduce(0, +) < 150_000)
    }

    @Test func fieldsForbidForeignContent() {
        let fields = PageFields.all
        func value(_ name: String) -> String? { HTTPField.Name(name).flatMap { fields[$0] } }
        #expect(
            value("Content-Security-Policy")
                == "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        #expect(value("Referrer-Policy") == "no-referrer" && value("X-Content-Type-Options") == "nosniff")
        #expect(value("Cross-Origin-Opener-Policy") == "same-origin" && value("Cache-Control") == "no-store")
    }

    // MARK: Sessions

    private func sessions(_ clock: ManualInstant = ManualInstant()) -> PageSessions { PageSessions(now: { clock.now }) }

    private let operatorClient = ControlClient(name: "uid 1000", scope: .operate)

    @Test func codeWorksOnce() throws {
        let sessions = sessions()
        let code = try sessions.makeCode(for: operatorClient)
        #expect(code.text.utf8.count == 32 && code.text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) })
        for wrong in ["", String(code.text.dropLast()), code.text + "0", code.text.uppercased() + " "] {
            #expect(try sessions.begin(code: wrong) == nil)
        }
        let session = try #require(try sessions.begin(code: code.text))
        #expect(session.client == operatorClient && session.token.utf8.count == 64)
        #expect(try sessions.begin(code: code.text) == nil)
        #expect(sessions.client(presenting: session.token) == operatorClient)
        #expect(sessions.client(presenting: code.text) == nil && sessions.client(presenting: "") == nil)
        #expect(sessions.end(token: session.token) && !sessions.end(token: session.token))
        #expect(sessions.client(presenting: session.token) == nil)
    }

    @Test func codeAndSessionEndByThemselves() throws {
        let clock = ManualInstant()
        let sessions = sessions(clock)
        let (old, new) = (try sessions.makeCode(for: operatorClient), try sessions.makeCode(for: operatorClient))
        clock.advance(.seconds(59))
        let session = try #require(try sessions.begin(code: new.text))
        clock.advance(.seconds(1))
        #expect(try sessions.begin(code: old.text) == nil)
        clock.advance(.hours(8) - .seconds(2))
        #expect(sessions.client(presenting: session.token) != nil)
        clock.advance(.seconds(1))
        #expect(sessions.client(presenting: session.token) == nil)
    }

    @Test func codesAndSessionsAreBounded() throws {
        let sessions = sessions()
        let codes = try (0...PageSessions.maximumCodes).map { _ in try sessions.makeCode(for: operatorClient) }
        #expect(try sessions.begin(code: codes[0].text) == nil && sessions.begin(code: codes[1].text) != nil)
        let tokens = try (0...PageSessions.maximumSessions).map { _ in
            try #require(try sessions.begin(code: sessions.makeCode(for: operatorClient).text)).token
        }
        #expect(sessions.client(presenting: tokens[0]) == nil && sessions.client(presenting: tokens[1]) != nil)
    }

    @Test func clientEndsNoSessionOfAnother() throws {
        let sessions = sessions()
        let waiting = try sessions.makeCode(for: operatorClient)
        let session = try #require(try sessions.begin(code: sessions.makeCode(for: operatorClient).text))
        let other = ControlClient(name: "other", scope: .read)
        for _ in 0..<100 { _ = try #require(try sessions.begin(code: sessions.makeCode(for: other).text)) }
        for _ in 0..<100 { _ = try sessions.makeCode(for: other) }
        #expect(sessions.client(presenting: session.token) == operatorClient)
        #expect(try sessions.begin(code: waiting.text) != nil)
    }

    /// The newest is refused. If the oldest ended, a client with many names would end the sessions
    /// of all others.
    @Test func allClientsTogetherAreBoundedAndEndNoOldSession() throws {
        let clock = ManualInstant()
        let sessions = sessions(clock)
        func client(_ number: Int) -> ControlClient { ControlClient(name: "\(number)", scope: .read) }
        let tokens = try (0..<PageSessions.maximumOfAll).map { number in
            try #require(try sessions.begin(code: sessions.makeCode(for: client(number)).text)).token
        }
        let code = try sessions.makeCode(for: operatorClient)
        let refused = #expect(throws: ControlProblem.self) { try sessions.session(for: code.text) }
        #expect(refused?.code == "too-many-sessions" && refused?.status == 503)
        #expect(tokens.allSatisfy { sessions.client(presenting: $0) != nil }, "no session has ended")
        // The code was not used up, and a free place is enough.
        #expect(sessions.end(token: tokens[500]))
        #expect(try sessions.session(for: code.text).client == operatorClient)
        for number in 0..<PageSessions.maximumOfAll { _ = try sessions.makeCode(for: client(number)) }
        #expect(throws: ControlProblem.self) { try sessions.makeCode(for: operatorClient) }
        clock.advance(PageSessions.codeLife)
        _ = try sessions.makeCode(for: operatorClient)
    }

    @Test func sessionOpensThePortWithItsScope() throws {
        let sessions = sessions()
        let entryPoint = NetworkEntryPoint(
            ControlNetwork(host: "127.0.0.1", port: 9800, tokens: TokenVerifier(ofSessions: { .now() })),
            sessions
        )
        let reader = ControlClient(name: "reader", scope: .read)
        let session = try entryPoint.beginSession(sessions.makeCode(for: reader).text)
        var head = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:9800", path: "/v1/status")
        head.headerFields[.authorization] = "Bearer \(session.token)"
        #expect(try entryPoint.admit(head, from: "127.0.0.1") == reader)
        head.headerFields[.authorization] = "Bearer \(session.token.dropLast())0x"
        #expect(throws: ControlProblem.self) { try entryPoint.admit(head, from: "127.0.0.1") }
    }

    @Test func wrongCodesShutNoOneOut() throws {
        let sessions = sessions()
        let entryPoint = NetworkEntryPoint(
            ControlNetwork(host: "127.0.0.1", port: 9800, tokens: TokenVerifier(ofSessions: { .now() })),
            sessions
        )
        let code = try sessions.makeCode(for: operatorClient).text
        for _ in 0..<100 {
            let problem = #expect(throws: ControlProblem.self) { try entryPoint.beginSession("x") }
            #expect(problem?.status == 401)
        }
        let session = try entryPoint.beginSession(code)
        #expect(session.client == operatorClient)
        var head = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:9800", path: "/v1/status")
        head.headerFields[.authorization] = "Bearer \(session.token)"
        #expect(try entryPoint.admit(head, from: "192.0.2.1") == operatorClient)
    }

    @Test(arguments: [
        ("127.0.0.1", [], "http://127.0.0.1:9800"), ("::1", [], "http://[::1]:9800"),
        ("0.0.0.0", [], "http://localhost:9800"), ("0.0.0.0", ["ops.test"], "http://ops.test:9800"),
        ("::", ["ops.test:80"], "http://ops.test:80"), ("::", ["[fd00::7]"], "http://[fd00::7]:9800"),
    ]) func pageIsWhereTheGuardLetsItsBrowserIn(_ host: String, _ hosts: [String], _ expected: String) throws {
        let network = ControlNetwork(host: host, port: 0, tokens: TokenVerifier(ofSessions: { .now() }), hosts: hosts)
        let url = network.pageURL(port: 9800)
        #expect(url == expected && network.allowedHosts.contains(String(url.dropFirst("http://".count))))
    }
}
