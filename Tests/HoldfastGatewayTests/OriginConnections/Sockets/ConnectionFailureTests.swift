import GatewayRouting
import HTTPCache
import HTTPWire
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTesting
import LibC
import NIOCore
import NIOEmbedded
import NIOPosix
import NIOSSL
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// Why no connection to an origin can be used, on real sockets.
@Suite(.timeLimit(.minutes(20))) struct ConnectionFailureTests {
    /// Sends thirty requests at once to an origin that fails, and returns the reasons that metrics
    /// count and the origin's cause.
    private func fail(_ settings: Configuration.Origin) async throws -> (reasons: Set<String>, cause: FailureCause?) {
        try await RunningGateway.with(origin: settings.url, configureTransport: { $0.origins = [settings] }) {
            gateway in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<30 { group.addTask { try await gateway.get("/\(number)").status } }
                for try await status in group { #expect(status >= 502) }
            }
            let name = "http_client_request_duration_seconds"
            let all = await Scrape(gateway).series(name, [:]).flatMap {
                $0.labels.all.filter { $0.name == "error_type" }
            }
            return (Set(all.map(\.value)), gateway.engine.origins.conditions.first?.cause)
        }
    }

    private func expect(_ reason: String, _ words: String..., from settings: Configuration.Origin) async throws {
        let (reasons, cause) = try await fail(settings)
        #expect(reasons == [reason])
        #expect(cause?.reason == reason, "\(String(describing: cause))")
        for words in words { #expect(cause?.message.contains(words) == true, "\(String(describing: cause))") }
    }

    private static func settings(_ url: String, at address: String? = nil, roots: String? = nil) -> Configuration.Origin
    {
        var settings = Configuration.Origin(url: url)
        settings.addresses = address.map { [$0] } ?? []
        settings.tls.roots = roots
        return settings
    }

    private static func server(_ folder: CertificateFolder, _ name: String, demanding client: String? = nil) throws
        -> NIOSSLContext
    {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try folder.certificate(name))],
            privateKey: .privateKey(try NIOSSLPrivateKey(file: folder.file("\(name).key"), format: .pem))
        )
        if let client {
            configuration.trustRoots = .certificates([try folder.certificate(client)])
            configuration.certificateVerification = .noHostnameVerification
            // With TLS 1.3, the alert may be lost, because the server closes a connection with
            // unread bytes.
            configuration.maximumTLSVersion = .tlsv12
        }
        return try NIOSSLContext(configuration: configuration)
    }

    /// A server without TLS, which reacts to a connection, or to its first bytes.
    private func withServer(
        atOnce: Bool = false,
        _ react: @escaping @Sendable (any Channel) -> Void,
        _ body: (_ port: Int) async throws -> Void
    ) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reaction(react, atOnce: atOnce))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        try await body(try #require(listener.localAddress?.port))
        try await listener.close()
    }

    @Test func refusedAndUnknownNames() async throws {
        try await expect("refused", "running", from: Self.settings("http://127.0.0.1:1"))
        try await expect("name-resolution", "DNS", from: Self.settings("http://nowhere.invalid"))
    }

    /// Mutants: a certificate's dates are not looked at; its name counts as unknown authority.
    @Test func certificatesThatAreRejected() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("server", "DNS:origin.example")
            try folder.make("other", "DNS:origin.example")
            try folder.sign("old", by: "other", days: -1)
            let url = "https://origin.example"
            try await RawOrigin.with(tls: Self.server(folder, "server")) { origin in
                let other = Self.settings(url, at: origin.authority, roots: folder.file("other.pem"))
                try await expect("unknown-authority", "'ca'", from: other)
                let system = Self.settings(url, at: origin.authority)
                try await expect("unknown-authority", "'ca'", from: system)
                let roots = folder.file("server.pem")
                let wrong = Self.settings("https://wrong.example", at: origin.authority, roots: roots)
                try await expect(
                    "wrong-name",
                    "'server-name'",
                    "is for 'origin.example', not for 'wrong.example'.",
                    from: wrong
                )
                #expect(origin.requests.isEmpty)
            }
            try await RawOrigin.with(tls: Self.server(folder, "old")) { origin in
                let expired = Self.settings(url, at: origin.authority, roots: folder.file("other.pem"))
                try await expect("certificate-expired", "Renew", from: expired)
            }
            try await RawOrigin.with(tls: Self.server(folder, "server", demanding: "other")) { origin in
                var stranger = Self.settings(url, at: origin.authority, roots: folder.file("server.pem"))
                (stranger.tls.certificate, stranger.tls.key) = (folder.file("server.pem"), folder.file("server.key"))
                try await expect("client-certificate", "'certificate' and 'key'", "TLS alert 48", from: stranger)
            }
        }
    }

    @Test func serversThatDoNotSpeakTLS() async throws {
        let plain = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        try await withServer({ $0.writeAndFlush(ByteBuffer(string: plain), promise: nil) }) { port in
            try await expect("not-tls", "http://", from: Self.settings("https://127.0.0.1:\(port)"))
        }
        // The alert 'handshake_failure', in a record of TLS 1.2.
        let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 40]
        try await withServer({ $0.writeAndFlush(ByteBuffer(bytes: alert), promise: nil) }) { port in
            try await expect("handshake-refused", "TLS alert 40", from: Self.settings("https://127.0.0.1:\(port)"))
        }
        // The alert 'certificate_required'. Mutant: the gateway is said to have presented one.
        let required = alert.dropLast() + [116]
        try await withServer({ $0.writeAndFlush(ByteBuffer(bytes: required), promise: nil) }) { port in
            let words = "requires a client certificate, and none is set. Set 'certificate'"
            try await expect("client-certificate", words, from: Self.settings("https://127.0.0.1:\(port)"))
        }
        try await withServer({ $0.close(promise: nil) }) { port in
            try await expect("handshake-refused", from: Self.settings("https://127.0.0.1:\(port)"))
        }
    }

    /// The reset may arrive while the gateway connects, before it writes, or after that. Mutant: a
    /// reset counts as a closed connection.
    @Test(arguments: ["http", "https"], [true, false]) func serversThatReset(scheme: String, atOnce: Bool) async throws
    {
        try await withServer(atOnce: atOnce, { $0.reset() }) { port in
            try await expect("reset", "firewalls", from: Self.settings("\(scheme)://127.0.0.1:\(port)"))
        }
    }

    /// Then nothing above TLS sees the error. Mutant: a failed write of the handshake is forgotten.
    @Test(arguments: [(ECONNRESET, ConnectionFailure.reset), (EPIPE, .handshakeRefused)])
    func failedWriteEndsTheHandshake(_ code: CInt, _ failure: ConnectionFailure) throws {
        let context = try NIOSSLContext(configuration: .makeClientConfiguration())
        let tls = try NIOSSLClientHandler(context: context, serverHostname: "origin.example")
        let writes = HandshakeWrites()
        let wait = HandshakeWait(tls, OriginIdentity("origin.example"), writes)
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([FailingWrites(code), writes, tls, wait])
        let completion = wait.completion(on: channel.eventLoop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.pipeline.fireChannelInactive()
        let error = #expect(throws: IOError.self) { try completion.wait() }
        #expect(error.flatMap { ConnectionFailure($0) } == failure)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// Mutant: a TLS record counts as a closed connection.
    @Test func serversThatSpeakTLS() async throws {
        // The alerts 'protocol_version', and 'unexpected_message', whose last byte ends a line.
        for code: UInt8 in [70, 10] {
            let alert: [UInt8] = [21, 3, 1, 0, 2, 2, code]
            for cut in 1...alert.count {
                let send: @Sendable (any Channel) -> Void = { channel in
                    channel.writeAndFlush(ByteBuffer(bytes: alert[..<cut]), promise: nil)
                    channel.writeAndFlush(ByteBuffer(bytes: alert[cut...]), promise: nil)
                }
                try await withServer(send) { port in
                    try await expect("speaks-tls", "https://", from: Self.settings("http://127.0.0.1:\(port)"))
                }
            }
        }
        // Most servers close without an alert.
        try await withServer({ $0.close(promise: nil) }) { port in
            try await expect("connection-closed", "https://", from: Self.settings("http://127.0.0.1:\(port)"))
        }
    }

    /// Mutant: a response that is not valid HTTP is forgotten.
    @Test func serversThatDoNotSpeakHTTP() async throws {
        let greeting = "SSH-2.0-OpenSSH_9.6\r\n"
        try await withServer({ $0.writeAndFlush(ByteBuffer(string: greeting), promise: nil) }) { port in
            try await expect("protocol-violation", "listens", from: Self.settings("http://127.0.0.1:\(port)"))
        }
    }

    /// Mutant: every fault gets the advice for another program on the port.
    @Test(arguments: [
        (
            "X: \(String(repeating: "a", count: 70_000))\r\nContent-Length: 0\r\n",
            "its fields have more than 65536 bytes. Make the origin send less; no setting raises this limit."
        ),
        (String(repeating: "X: a\r\n", count: 130), "it has more than 128 field lines. Make the origin send less"),
        (
            "Content-Length: 2\r\nContent-Length: 5\r\n",
            "'Content-Length' is malformed, or sent more than once. Correct the origin's response."
        ),
        ("Content Type: x\r\n", "a field line has no colon, or a malformed name. Correct the origin's response."),
    ])
    func invalidHeadIsNamed(_ fields: String, _ words: String) async throws {
        let head = "HTTP/1.1 200 OK\r\n\(fields)\r\n"
        try await RawOrigin.with(respond: { _ in .respondAndClose(head) }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let status = try await gateway.get("/a").status
                #expect(status == 502)
                let cause = try #require(gateway.engine.origins.conditions.first?.cause)
                #expect(cause.message.contains(" was rejected: \(words)"), "\(cause)")
            }
        }
    }

    @Test(arguments: MessageRefusal.Reason.allCases) func everyFaultHasWords(_ reason: MessageRefusal.Reason) {
        let refusal = MessageRefusal(reason)
        #expect(!refusal.faultOfResponse.hasSuffix(".") && refusal.adviceOnResponse.hasSuffix("."))
    }

    /// A client may choose a target whose response is not valid.
    @Test func invalidResponsesAreNoOutage() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            request.target.hasPrefix("/bad") ? .respondAndClose("nonsense\r\n\r\n") : .ok("good")
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for number in 0..<30 { #expect(try await gateway.get("/bad\(number)").status == 502) }
                let condition = try #require(gateway.engine.origins.conditions.first)
                #expect(condition.reachability == .reachable && condition.cause?.reason == "protocol-violation")
                #expect(try await gateway.get("/good").status == 200)
                #expect(gateway.engine.origins.conditions.allSatisfy { $0.cause == nil })
            }
        }
    }

    /// Mutant: only failures of an unreachable origin leave a trace.
    @Test func oneResetIsShownAlthoughItIsNoOutage() async throws {
        try await withServer({ $0.reset() }) { port in
            try await RunningGateway.with(origin: "http://127.0.0.1:\(port)") { gateway in
                let status = try await gateway.get("/a").status
                #expect(status == 502)
                let condition = try #require(gateway.engine.origins.conditions.first)
                #expect(condition.reachability == .reachable && condition.cause?.reason == "reset")
                #expect(condition.lastFailure?.cause == condition.cause)
            }
        }
    }

    /// Mutant: a time limit's message has no next step.
    @Test(arguments: [OriginWait.Running.taking, .head, .content])
    func timeoutsStateTheirSetting(_ running: OriginWait.Running) throws {
        let limit = OriginTimeLimit(time: .milliseconds(1500), source: .setting("timeouts.send"))
        let error = TransportError(waitingFor: running, limit, try GatewayOrigin("http://origin.example").endpoint)
        #expect(error.code == .timeout && error.message.contains(" within 1500 ms ('timeouts.send')."), "\(error)")
        #expect(error.message.contains("raise 'timeouts.send'."), "\(error)")
    }

    /// Only the limit that passed is named. Mutant: the shorter limit is not.
    @Test(arguments: [false, true]) func slowOriginStatesTheLimitThatPassed(isHard: Bool) async throws {
        var options = EngineOptions.patient
        if isHard { options.hardTimeout = .passing(50) }
        let setting = isHard ? "timeouts.hard" : "timeouts.first-byte"
        try await withServer({ _ in }) { port in
            try await RunningGateway.with(
                origin: "http://127.0.0.1:\(port)",
                options: options,
                configureTransport: { transport in
                    guard !isHard else { return }
                    transport.firstByteTimeout = .passing(50)
                }
            ) { gateway in
                let status = try await gateway.get("/slow").status
                #expect(status == 504)
                let cause = try #require(gateway.engine.origins.conditions.first?.lastFailure?.cause)
                #expect(cause.reason == "timeout" && cause.message.contains(" sent no response within "), "\(cause)")
                #expect(cause.message.hasSuffix("('\(setting)'). Check the origin, or raise '\(setting)'."), "\(cause)")
            }
        }
    }

    @Test(arguments: [
        (OriginTimeLimit.Source.setting("a"), 3000, "3 s ('a')"),
        (.share(of: "a"), 250, "250 ms (this server's share of 'a')"), (.gateway, 10_000, "10 s"),
    ])
    func timeLimitsAreNamed(_ source: OriginTimeLimit.Source, _ milliseconds: Int64, _ words: String) {
        #expect(OriginTimeLimit(time: .milliseconds(milliseconds), source: source).words == words)
    }

    @Test func serversThatTakeTooLong() async throws {
        let listener = try DeafListener()
        var deaf = Self.settings("http://127.0.0.1:\(listener.port)")
        deaf.timeouts.connect = .passing(50)
        try await expect("connect-timeout", "'timeouts.connect'", from: deaf)
        withExtendedLifetime(listener) {}
        try await withServer({ _ in }) { port in
            var silent = Self.settings("https://127.0.0.1:\(port)")
            // Long enough that a busy machine opens all connections in time.
            silent.timeouts.connect = .passing(2000)
            try await expect("handshake-timeout", "'timeouts.connect'", from: silent)
        }
    }

    @Test(arguments: [
        (ECONNREFUSED, ConnectionFailure.refused), (ECONNRESET, .reset), (EHOSTUNREACH, .noRoute),
        (ENETUNREACH, .noRoute), (EPERM, .blocked), (EACCES, .blocked), (ETIMEDOUT, .connectTimeout),
    ])
    func systemErrors(_ code: CInt, _ failure: ConnectionFailure) {
        #expect(ConnectionFailure(IOError(errnoCode: code, reason: "connect")) == failure)
    }

    @Test func certificateDatesDecide() {
        func cause(now: Int64) -> ConnectionFailure? {
            ConnectionFailure(
                UntrustedCertificate(
                    notBefore: 100,
                    notAfter: 200,
                    now: now,
                    cause: NIOSSLError.noCertificateToValidate
                )
            )
        }
        #expect(cause(now: 99) == .certificateNotYetValid)
        #expect(cause(now: 100) == .unknownAuthority && cause(now: 200) == .unknownAuthority)
        #expect(cause(now: 201) == .certificateExpired)
    }

    /// The codes are in logs and metrics.
    @Test func codesAreDistinct() {
        let codes = ConnectionFailure.allCases.map(\.rawValue)
        #expect(Set(codes).count == codes.count && codes.allSatisfy { $0 == $0.lowercased() })
    }
}

/// Fails every write.
private final class FailingWrites: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private let code: CInt

    init(_ code: CInt) { self.code = code }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        promise?.fail(IOError(errnoCode: code, reason: "write"))
    }
}

/// Calls a function with the channel, at once or when the first bytes arrive.
private final class Reaction: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var react: ((any Channel) -> Void)?
    private let atOnce: Bool

    init(_ react: @escaping (any Channel) -> Void, atOnce: Bool) { (self.react, self.atOnce) = (react, atOnce) }

    func channelActive(context: ChannelHandlerContext) {
        if atOnce { react.take()?(context.channel) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { react.take()?(context.channel) }
}
