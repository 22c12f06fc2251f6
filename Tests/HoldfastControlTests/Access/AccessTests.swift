import Foundation
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import HoldfastControl

/// Tokens, scopes and failed tries, as values.
@Suite(.timeLimit(.minutes(20))) struct AccessTests {
    private static let secret = String(repeating: "0123456789abcdef", count: 4)
    private static let other = String(repeating: "fedcba9876543210", count: 4)

    private func token(_ text: String, name: String = "a", _ scope: ControlScope = .read) throws -> ControlToken {
        try ControlToken(name: name, scope: scope, text: text, place: "The token")
    }

    private func entryPoint(_ now: @escaping @Sendable () -> NIODeadline = { .now() }) throws -> NetworkEntryPoint {
        let tokens = [try token(Self.secret, name: "reader"), try token(Self.other, name: "deploy", .purge)]
        let verifier = try TokenVerifier(tokens, now: now)
        return NetworkEntryPoint(ControlNetwork(host: "127.0.0.1", port: 9800, tokens: verifier, hosts: ["h.test"]))
    }

    private func head(_ fields: [(String, String)], host: String? = "127.0.0.1:9800") -> HTTPRequest {
        var head = HTTPRequest(method: .get, scheme: "http", authority: host, path: "/v1/purges")
        for (name, value) in fields {
            if let name = HTTPField.Name(name) { head.headerFields.append(HTTPField(name: name, value: value)) }
        }
        return head
    }

    private func status(_ entryPoint: NetworkEntryPoint, _ head: HTTPRequest, from address: String = "192.0.2.1") -> Int
    {
        do {
            _ = try entryPoint.admit(head, from: address)
            return 200
        } catch let problem as ControlProblem {
            return problem.status
        } catch {
            return error is TokenVerifier.Wait ? 429 : 0
        }
    }

    @Test(arguments: [
        "", "short", String(repeating: "a1", count: 31), String(repeating: "A", count: 63), "with space" + secret,
        String(repeating: "xyz-", count: 10), String(repeating: "a", count: 513), secret + "\n" + secret, "ß" + secret,
    ]) func textWithoutRoomFor32BytesIsNoToken(_ text: String) {
        #expect(throws: InvalidSetting.self) { try token(text) }
    }

    @Test(arguments: [secret, String(repeating: "xyz-", count: 11), "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="])
    func textWithRoomFor32BytesIsAToken(_ text: String) throws {
        let table = TokenTable([try token(text)])
        #expect(table.token(presented: text)?.name == "a")
        for wrong in [String(text.dropLast()), text + "a", "", text.uppercased()] where wrong != text {
            #expect(table.token(presented: wrong) == nil)
        }
    }

    @Test func presentedTokenNamesItsClient() throws {
        let entryPoint = try entryPoint()
        for text in ["Bearer ", "bearer ", "BEARER "] {
            let client = try entryPoint.admit(head([("Authorization", text + Self.other)]), from: "192.0.2.1")
            #expect(client == ControlClient(name: "deploy", scope: .purge))
        }
    }

    @Test func wrongCredentialsAreAllTheSame() throws {
        let wrong: [[(String, String)]] = [
            [], [("Authorization", "")], [("Authorization", "Bearer")],
            [("Authorization", "Bearer " + Self.secret + "0")],
            [("Authorization", "Basic " + Self.secret)], [("Authorization", Self.secret)],
            [("Authorization", "Bearer " + Self.secret), ("Authorization", "Bearer " + Self.secret)],
            [("Cookie", "token=" + Self.secret)], [("X-Token", Self.secret)],
        ]
        for fields in wrong {
            let entryPoint = try entryPoint()
            let error = #expect(throws: ControlProblem.self) { try entryPoint.admit(head(fields), from: "192.0.2.1") }
            let expected = #expect(throws: ControlProblem.self) { try entryPoint.admit(head([]), from: "192.0.2.1") }
            #expect(error == expected && error?.status == 401, "\(fields)")
        }
    }

    /// A stranger behind the operator's proxy, NAT or loopback address must not keep it out.
    @Test func rightTokenIsAcceptedWhateverWrongOnesCame() throws {
        let clock = ManualInstant()
        let entryPoint = try entryPoint { clock.now }
        let (right, wrong) = (head([("Authorization", "Bearer " + Self.secret)]), head([("Authorization", "Bearer x")]))
        for number in 0..<1000 {
            #expect(status(entryPoint, wrong) == (number < 5 ? 401 : 429))
            #expect(status(entryPoint, right) == 200)
        }
        #expect(status(entryPoint, wrong, from: "192.0.2.2") == 401)
        clock.advance(.seconds(59))
        let wait = #expect(throws: TokenVerifier.Wait.self) { try entryPoint.admit(wrong, from: "192.0.2.1") }
        #expect(wait?.seconds == 1)
        // All tries have the same token.
        #expect(wait?.problem.detail.hasPrefix("The token is wrong, after 5 failed tries ") == true)
        clock.advance(.seconds(1))
        for _ in 0..<5 { #expect(status(entryPoint, wrong) == 401) }
        #expect(status(entryPoint, wrong) == 429 && status(entryPoint, right) == 200)
    }

    /// Any other connection makes room for a new one.
    @Test func onlyAValidTokenKeepsAConnection() throws {
        let entryPoint = ControlEntryPoint.network(try entryPoint())
        let wrong = [[], [""], ["Bearer x"], ["Basic " + Self.secret], ["Bearer \(Self.secret)x"]]
        for credentials in wrong { #expect(!entryPoint.opens(presenting: credentials), "\(credentials)") }
        #expect(entryPoint.opens(presenting: ["Bearer " + Self.secret]))
    }

    /// A text that is longer than any token is judged without a digest of it.
    @Test func longTextIsAWrongToken() throws {
        let long = String(repeating: "a", count: 60_000)
        #expect(TokenVerifier.bearer(in: ["Bearer " + long]) == nil)
        #expect(status(try entryPoint(), head([("Authorization", "Bearer " + long)])) == 401)
    }

    @Test func pageOfTheOperatorsBrowserShutsNoOperatorOut() throws {
        let entryPoint = try entryPoint()
        for _ in 0..<100 {
            #expect(status(entryPoint, head([])) == 401)
            #expect(status(entryPoint, head([("Origin", "http://a.test"), ("Authorization", "Bearer x")])) == 403)
            #expect(status(entryPoint, head([("Authorization", "Bearer x")], host: "a.test")) == 421)
        }
        #expect(status(entryPoint, head([("Authorization", "Bearer " + Self.secret)])) == 200)
    }

    @Test(
        arguments: [
            ("127.0.0.1:9800", 200), ("127.0.0.1", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("h.test:80", 200),
            ("h.test", 200), ("127.0.0.2", 421), ("a.h.test", 421), ("h.test.", 421), ("localhost:80@a", 421),
            ("localhost.a", 421), ("", 421), ("0.0.0.0:9800", 421), ("[::1]:9800", 421), (nil, 421),
        ] as [(String?, Int)]
    ) func hostMustBeKnown(_ host: String?, _ expected: Int) throws {
        let entryPoint = try entryPoint()
        #expect(status(entryPoint, head([("Authorization", "Bearer " + Self.secret)], host: host)) == expected)
    }

    /// Mutant: the port of an address is not read.
    @Test(arguments: [
        ("10.0.0.7", true), ("10.0.0.7:9464", true), ("[fd00::7]", true), ("[FD00::7]:9464", true), ("127.0.0.2", true),
        ("[::ffff:10.0.0.7]:1", true),
        // Names, which DNS rebinding needs.
        ("a.test", false), ("10.0.0.7.a.test", false), ("10.0.0.7.", false), ("localhost", false), ("", false),
        // Other notations of addresses, and what only looks like one.
        ("10.7", false), ("0x0a.0.0.7", false), ("167772167", false), ("fd00::7", false), ("[10.0.0.7]", false),
        ("10.0.0.7:a", false), ("10.0.0.7:1:2", false), ("[fd00::7]1", false), ("[fd00::7", false), ("[]", false),
        ("[fd00::7]:a", false), ("u@10.0.0.7", false), ("[fe80::1%eth0]", false), ("10.0.0.7 a", false),
        // The addresses of all addresses.
        ("0.0.0.0:9464", false), ("[::]:9464", false),
    ]) func addressIsRecognized(_ host: String, _ expected: Bool) throws {
        #expect(AllowedHosts.isAddress(host) == expected)
        let address = MetricsAddress(host: "0.0.0.0", port: 1)
        let request = head([], host: host)
        func isAdmitted(_ acceptsAddresses: Bool) -> Bool {
            (try? MetricsEntryPoint(address).admit(request, from: "192.0.2.1", acceptsAddresses)) != nil
        }
        let isNamed = host == "localhost"
        // Elsewhere, an address must be one of the control plane's.
        #expect(isAdmitted(true) == (expected || isNamed) && isAdmitted(false) == isNamed)
        let authorized = head([("Authorization", "Bearer " + Self.secret)], host: host)
        let client = try? entryPoint().admit(authorized, from: "192.0.2.1", acceptsAddresses: true)
        #expect((client != nil) == (expected || isNamed))
        #expect(status(try entryPoint(), authorized) == (isNamed ? 200 : 421))
    }

    /// Mutant: every operation accepts any address.
    @Test func anyAddressReadsOnlyHealthAndMetrics() {
        let paths = ControlResponder.operations.filter(\.acceptsAddresses).map { "\($0.method) \($0.path)" }
        #expect(Set(paths) == ["GET /livez", "GET /readyz", "GET /healthz", "GET /metrics"])
    }

    /// Mutant: the token of the port for metrics is not checked.
    @Test func metricsNeedTheirTokenIfThereIsOne() throws {
        let verifier = try TokenVerifier([try token(Self.secret, name: "metrics")])
        let address = MetricsAddress(host: "127.0.0.1", port: 1, hosts: ["scrape.test"], tokens: verifier)
        let entryPoint = MetricsEntryPoint(address)
        let right = [("Authorization", "Bearer " + Self.secret)]
        for host in ["scrape.test", "10.0.0.7:1", "localhost"] {
            let client = try entryPoint.admit(head(right, host: host), from: "192.0.2.1", true)
            #expect(client == ControlClient(name: "metrics", scope: .read))
            for wrong in [[], [("Authorization", "Bearer " + Self.other)], right + right] {
                let error = #expect(throws: ControlProblem.self) {
                    try entryPoint.admit(head(wrong, host: host), from: "192.0.2.\(host.utf8.count)", true)
                }
                #expect(error?.status == 401)
            }
        }
        let metrics = ControlEntryPoint.metrics(entryPoint)
        #expect(metrics.opens(presenting: right.map(\.1)) && !metrics.opens(presenting: []))
        #expect(throws: ControlProblem.self) {
            try entryPoint.admit(head(right, host: "a.test"), from: "192.0.2.1", true)
        }
    }

    @Test(arguments: ["http://a.test/livez", "http://localhost/livez", "*", "localhost:1", ""])
    func targetIsAPath(_ target: String) throws {
        var head = head([("Authorization", "Bearer " + Self.secret)], host: "localhost")
        #expect(status(try entryPoint(), head) == 200)
        head.path = target
        #expect(status(try entryPoint(), head) == 421)
    }

    @Test func addressOfAllAddressesIsNoHost() throws {
        for (host, name) in [("0.0.0.0", "0.0.0.0:1"), ("::", "[::]:1")] {
            let tokens = try TokenVerifier([try token(Self.secret)])
            let network = ControlNetwork(host: host, port: 1, tokens: tokens, hosts: ["[fd00::7]"])
            #expect(!network.allowedHosts.contains(name) && network.allowedHosts.contains("[FD00::7]:1"))
        }
        let network = ControlNetwork(host: "::1", port: 1, tokens: try TokenVerifier([try token(Self.secret)]))
        #expect(network.allowedHosts.contains("[::1]:1") && network.allowedHosts.contains("[::1]"))
    }

    @Test(arguments: [
        ("http://localhost:9800", 200), ("http://LOCALHOST:9800", 200), ("https://localhost:9800", 403),
        ("http://localhost", 403), ("http://localhost:3000", 403), ("http://127.0.0.1:9800", 403), ("null", 403),
        ("", 403), ("http://a.test", 403),
    ]) func pageOfAnotherOriginIsRejected(_ origin: String, _ expected: Int) throws {
        let fields = [("Origin", origin), ("Authorization", "Bearer " + Self.secret)]
        #expect(status(try entryPoint(), head(fields, host: "localhost:9800")) == expected)
    }

    /// Behind a proxy that ends TLS, the page's origin has another scheme than the request.
    @Test(arguments: [
        ("h.test", "https://h.test", 200), ("h.test", "HTTPS://H.test", 200), ("h.test", "http://h.test", 200),
        ("h.test:8443", "https://h.test:8443", 200), ("h.test:8443", "https://h.test", 403),
        ("h.test", "https://h.test:8443", 403), ("h.test", "https://localhost", 403), ("h.test", "ftp://h.test", 403),
        ("localhost", "https://localhost", 403), ("127.0.0.1:9800", "https://127.0.0.1:9800", 403),
    ]) func pageBehindAProxyIsOwnAtNamedHosts(_ host: String, _ origin: String, _ expected: Int) throws {
        let fields = [("Origin", origin), ("Authorization", "Bearer " + Self.secret)]
        #expect(status(try entryPoint(), head(fields, host: host)) == expected)
        #expect(status(try entryPoint(), head(fields + [("Origin", origin)], host: host)) == 403)
    }

    @Test func failedTriesAreBounded() {
        var tries = FailedTries()
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        for _ in 0..<5 { tries.record("192.0.2.1", at: start + .seconds(1)) }
        for number in 0..<5000 { tries.record("10.0.\(number / 250).\(number % 250)", at: start) }
        #expect(tries.count == FailedTries.maximumAddresses)
        // The ones that failed longest ago went.
        #expect(tries.wait(of: "192.0.2.1", at: start + .seconds(1)) == 60)
        tries.record("192.0.2.9", at: start + .minutes(2))
        #expect(tries.count == 1)
    }

    @Test func networkOfIPv6HasOneCount() {
        var tries = FailedTries()
        let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        for number in 0..<5 { tries.record("2001:db8::\(number)", at: now) }
        #expect(tries.wait(of: "2001:db8::ffff", at: now) == 60)
        #expect(tries.wait(of: "2001:db8:0:1::1", at: now) == nil)
        for number in 0..<5 { tries.record("::ffff:192.0.2.\(number)", at: now) }
        #expect(tries.wait(of: "::ffff:192.0.2.1", at: now) == nil)
        // A socket for both versions writes an address of IPv4 otherwise.
        for number in 0..<5 { tries.record(number % 2 == 0 ? "::ffff:192.0.2.9" : "192.0.2.9", at: now) }
        #expect(tries.wait(of: "192.0.2.9", at: now) == 60 && tries.wait(of: "::ffff:192.0.2.9", at: now) == 60)
    }

    @Test func operationsOpenToTheirScopes() {
        #expect(ControlScope.read < .purge && ControlScope.purge < .operate)
        // They change nothing of the cache, and give no client more than it has.
        let ofSessions: Set<String> = ["/v1/inspections", "/v1/sessions"]
        for operation in ControlResponder.operations {
            // An operation that changes something needs more than the right to read.
            let isReading = operation.method == .get || ofSessions.contains(operation.path)
            #expect(isReading || operation.scope > .read, "\(operation.method) \(operation.path)")
            #expect(!operation.isOpen || operation.path == "/v1/sessions" && operation.method == .post)
            for scope in ControlScope.allCases {
                let client = ControlClient(name: "a", scope: scope)
                let isAdmitted = (try? operation.admit(client)) != nil
                #expect(isAdmitted == (scope >= operation.scope), "\(operation.path) \(scope)")
            }
        }
        // It says whether a URL is stored with its query, which other scopes do not see.
        #expect(ControlResponder.operations.contains { $0.path == "/v1/explain" && $0.scope == .operate })
    }

    /// Selectors that reach into a query, in every place of a purge.
    @Test(arguments: ControlScope.allCases) func queriesAreNamedByOperatorsAlone(_ scope: ControlScope) throws {
        let client = ControlClient(name: "a", scope: scope)
        let (plain, query) = ("http://a.test/x", "http://a.test/x?k=a")
        func isAdmitted(urls: [String] = [], prefixes: [String] = [], dryRun: Bool) -> Bool {
            var selection = PurgeRequest.Selection()
            (selection.urls, selection.prefixes) = (urls, prefixes)
            (selection.tags, selection.hosts) = (["a?b"], ["a.test"])
            return (try? client.checkMaySelect(PurgeRequest(selection, dryRun: dryRun))) != nil
        }
        let sees = scope == .operate
        for dryRun in [false, true] {
            #expect(isAdmitted(urls: [plain], prefixes: [plain], dryRun: dryRun))
            #expect(isAdmitted(prefixes: [plain, query], dryRun: dryRun) == sees)
            #expect(isAdmitted(urls: [plain, query], dryRun: dryRun) == (sees || !dryRun))
        }
        guard !sees else { return }
        let problem = #expect(throws: ControlProblem.self) { try client.checkMayName(query, in: "prefix") }
        #expect(problem?.status == 403 && problem?.detail.contains("k=a") == false)
    }

    /// A new operation that selects stored responses needs a line here, and a check.
    @Test func everyOperationBelowOperateIsKnownToRevealNoQuery() {
        let revealing: Set<String> = [
            // They select, and check what clients may name.
            "GET /v1/responses", "GET /v1/responses/{id}", "GET /v1/pins", "POST /v1/purges",
            // They show URLs that others named, without their queries.
            "GET /v1/purges", "GET /v1/not-stored",
        ]
        let others: Set<String> = [
            "GET /livez", "GET /readyz", "GET /healthz", "GET /metrics", "GET /v1/mode", "GET /v1/drains",
            "GET /v1/staleness", "GET /v1/status", "GET /v1/origins", "GET /v1/configuration", "GET /v1/log-level",
            "GET /v1/refreshes", "GET /v1/recordings",
            "GET /v1/rules", "GET /v1/overview", "GET /v1/history", "GET /v1/outages", "GET /v1/events",
            "POST /v1/inspections", "POST /v1/sessions", "GET /v1/sessions", "DELETE /v1/sessions",
        ]
        for operation in ControlResponder.operations where operation.scope < .operate {
            let name = "\(operation.method) \(operation.path)"
            #expect(revealing.contains(name) || others.contains(name), "\(name)")
        }
    }

    // MARK: Files

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try TemporaryFolder()
        try body(folder.path)
    }

    @Test func fileThatOthersCanReadIsRefused() throws {
        try withFolder { folder in
            let file = TokenFile(path: folder + "/a.token")
            try Data((Self.secret + "\r\n").utf8).write(to: URL(fileURLWithPath: file.path))
            for mode in [0o604, 0o644, 0o602, 0o620, 0o601, 0o777] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
                let refusal = #expect(throws: InvalidSetting.self) { try file.read(name: "a", scope: .read) }
                #expect(refusal?.description.contains("run 'chmod 600 \(file.path)'") == true)
                #expect(refusal?.description.contains(Self.secret) == false)
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file.path)
            let token = try file.read(name: "a", scope: .purge)
            #expect(TokenTable([token]).token(presented: Self.secret)?.scope == .purge)
            for path in [folder, folder + "/b"] {
                #expect(throws: InvalidSetting.self) { try TokenFile(path: path).read(name: "a", scope: .read) }
            }
        }
    }

    @Test func madeTokenIsForItsOwnerAndStays() throws {
        try withFolder { folder in
            let file = TokenFile(path: folder + "/" + TokenFile.standardName)
            #expect(try file.makeIfMissing())
            let text = try String(contentsOfFile: file.path, encoding: .utf8)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try !file.makeIfMissing() && String(contentsOfFile: file.path, encoding: .utf8) == text)
            let token = try file.read(name: "standard", scope: .operate)
            #expect(TokenTable([token]).token(presented: String(text.dropLast())) != nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [TokenFile.standardName])
            let second = TokenFile(path: folder + "/second")
            #expect(try second.makeIfMissing() && String(contentsOfFile: second.path, encoding: .utf8) != text)
        }
    }

    @Test func sameTokenTwiceIsRefused() throws {
        let twins = [try token(Self.secret, name: "a"), try token(Self.secret, name: "b", .operate)]
        let refusal = #expect(throws: InvalidSetting.self) { try TokenVerifier(twins) }
        #expect(refusal?.description.contains("'a' and 'b'") == true)
        #expect(throws: InvalidSetting.self) { try TokenVerifier([]) }
    }

    /// Mutant: `token-for-metrics-operates`.
    @Test(arguments: ControlScope.allCases) func tokenForMetricsIsNoTokenOfTheControlPlane(_ scope: ControlScope)
        throws
    {
        let metrics = try token(Self.secret, name: "metrics")
        let (twin, other) = (try token(Self.secret, name: "deploy", scope), try token(Self.other, name: "b", scope))
        let refusal = #expect(throws: InvalidSetting.self) { try metrics.check(differsFrom: [other, twin]) }
        #expect(refusal?.description.contains("'deploy'") == true)
        #expect(refusal?.description.contains(Self.secret) == false)
        try metrics.check(differsFrom: [other])
        try metrics.check(differsFrom: [])
    }

    @Test func purgerHasATokenThatPurges() throws {
        let third = String(repeating: "c3", count: 32)
        let verifier = try TokenVerifier([
            try token(Self.secret, name: "reader"), try token(Self.other, name: "deploy", .purge),
            try token(third, name: "all", .operate),
        ])
        #expect(verifier.purger(presenting: ["Bearer " + third], from: "192.0.2.1") == "all")
        #expect(verifier.purger(presenting: ["Bearer " + Self.other], from: "192.0.2.1") == "deploy")
        for credentials in [[], ["Bearer " + Self.secret], ["Bearer x"], [Self.other]] {
            #expect(verifier.purger(presenting: credentials, from: "192.0.2.1") == nil)
        }
        // Its tries count together with those at the port, and shut no purger out.
        for _ in 0..<100 { #expect(verifier.purger(presenting: ["Bearer x"], from: "192.0.2.1") == nil) }
        #expect(throws: TokenVerifier.Wait.self) { try verifier.client(presenting: ["Bearer x"], from: "192.0.2.1") }
        #expect(verifier.purger(presenting: ["Bearer " + Self.other], from: "192.0.2.1") == "deploy")
    }
}
