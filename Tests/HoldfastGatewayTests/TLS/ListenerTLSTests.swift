import Dispatch
import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastMetrics
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import HoldfastGateway
@testable import TLSCertificates

/// TLS towards clients, over real sockets.
@Suite(.timeLimit(.minutes(20))) struct ListenerTLSTests {
    private static let fresh = "Cache-Control: max-age=60\r\n"
    private static let request = "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n"

    /// Runs a gateway with TLS in front of an origin.
    private func withGateway(
        _ tls: Configuration.TLS,
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in .ok("v1", fields: fresh) },
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with([], respond: respond) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), tls: tls)]
                    configure(&$0)
                },
                { try await body($0, origin) }
            )
        }
    }

    /// The same with one certificate, `a`, for `a.example`.
    private func withGateway(
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in .ok("v1", fields: fresh) },
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin, NIOSSLContext) async throws -> Void
    ) async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            let client = try folder.client(trusting: "a")
            try await withGateway(tls, respond: respond, configure: configure) { try await body($0, $1, client) }
        }
    }

    /// The values of a metric, by those of one of its labels.
    private func values(_ gateway: RunningGateway, _ name: String, by label: String) async -> [String: Int] {
        var result: [String: Int] = [:]
        for family in await gateway.server.metrics.families() where family.description.name == name {
            for series in family.series {
                let key = series.labels.all.first { $0.name == label }?.value ?? ""
                switch series.value {
                case .integer(let count): result[key, default: 0] += Int(count)
                case .number(let value): result[key, default: 0] += Int(value)
                case .histogram(let counts, _): result[key, default: 0] += Int(counts.reduce(0, +))
                }
            }
        }
        return result
    }

    private func failures(_ gateway: RunningGateway) async -> [String: Int] {
        await values(gateway, "holdfast_tls_handshake_failures_total", by: "reason").filter { $0.value > 0 }
    }

    /// Waits until a condition holds.
    private func wait(until condition: () async -> Bool) async throws {
        while !(await condition()) { try await Task.sleep(for: .milliseconds(5)) }  // lets time pass
    }

    // MARK: Serving

    /// Origins learn that the clients use TLS.
    /// Mutants: the socket's writer sends plain bytes; the scheme stays http.
    @Test func servesThirtyClientsFromStoreAndOrigin() async throws {
        try await withGateway { gateway, origin, context in
            try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(context, name: "a.example")) {
                client,
                number in
                for round in 0..<6 {
                    let target = round.isMultiple(of: 2) ? "/shared" : "/\(number)"
                    try await client.send("GET \(target) HTTP/1.1\r\nHost: a.example\r\n\r\n")
                    #expect(try await client.response().text == "v1")
                }
            }
            let request = try #require(origin.requests.first)
            #expect(request.values("x-forwarded-proto") == ["https"])
            #expect(request.values("forwarded") == ["for=127.0.0.1;proto=https"])
            #expect(await gateway.server.hotResponseCount() > 0)
            let schemes = await values(gateway, "http_server_request_duration_seconds", by: "url_scheme")
            #expect(schemes == ["http": 0, "https": 180])
            #expect(await values(gateway, "http_server_active_requests", by: "url_scheme") == ["http": 0, "https": 0])
            #expect(await failures(gateway).isEmpty)
        }
    }

    @Test(arguments: [true, false]) func offersHTTP2ToNoClientIfItIsOff(_ isOn: Bool) throws {
        let tls = Configuration.TLS(certificates: [])
        let listener = GatewayListener.address(ListenAddress(host: "127.0.0.1", port: 1), tls: tls, http2: isOn)
        #expect(listener.tls?.protocols == (isOn ? [.http2, .http11] : [.http11]))
        #expect(listener.acceptsHTTP2 == isOn)
    }

    /// The hot table is one for all listeners of a loop.
    @Test func hotResponseKeptInClearAlsoCountsWithTLS() async throws {
        try await withGateway(configure: {
            $0.listeners.append(.address(ListenAddress(host: "127.0.0.1", port: 0)))
        }) { gateway, _, context in
            // The test's gateway knows the port of its first listener alone.
            try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(context)) { client, _ in
                for _ in 0..<4 {
                    try await client.send(Self.request)
                    #expect(try await client.response().text == "v1")
                }
            }
            let schemes = await values(gateway, "http_server_request_duration_seconds", by: "url_scheme")
            #expect(schemes == ["http": 0, "https": 120])
        }
    }

    /// RFC 6066 §3
    @Test func serverNameOfClientChoosesTheCertificate() async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [
                try folder.make("a", "DNS:a.example"), try folder.make("b", "DNS:*.b.example,DNS:b.example"),
                try folder.make("r", "DNS:r.example", rsa: true),
            ])
            let context = try folder.client(trusting: "a", "b", "r")
            try await withGateway(tls) { gateway, _ in
                let cases: [(String?, String)] = [
                    ("a.example", "a"), ("A.Example", "a"), ("x.b.example", "b"), ("b.example", "b"),
                    ("y.x.b.example", "a"), ("r.example", "r"), ("other.example", "a"), (nil, "a"),
                ]
                for (name, expected) in cases {
                    try await RawClient.with(port: gateway.port, tls: .init(context, name: name)) { client in
                        try await client.send(Self.request)
                        #expect(try await client.response().status == 200)
                        let (certificate, own) = (try await client.peerCertificate(), try folder.certificate(expected))
                        #expect(certificate == own, "\(name ?? "no name")")
                    }
                }
            }
        }
    }

    /// Mutant: the least version of the library, which is 1.0.
    @Test func disconnectsAndCountsOldVersionsAndClientsInClear() async throws {
        try await CertificateFolder.with { folder in
            var tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            let old = try folder.client(trusting: "a", from: .tlsv1, to: .tlsv11)
            let second = try folder.client(trusting: "a", to: .tlsv12)
            for least in [Configuration.TLS.Version.tls12, .tls13] {
                tls.minimum = least
                try await withGateway(tls) { gateway, origin in
                    try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(old)) { client, _ in
                        try? await client.send(Self.request)
                        #expect(await client.read() == nil)
                    }
                    try await RawClient.onEach(of: 30, port: gateway.port) { client, _ in
                        try await client.send(Self.request)
                        let text = String(decoding: await client.readToEnd(), as: UTF8.self)
                        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"), "\(text)")
                        #expect(text.hasSuffix("\r\n\r\nThis port uses TLS. Use an 'https://' URL.\n"), "\(text)")
                    }
                    try await RawClient.onEach(of: 30, port: gateway.port) { client, _ in
                        try await client.send("SSH-2.0-OpenSSH_9.6\r\n")
                        let bytes = await client.readToEnd()
                        // An alert, and no HTTP.
                        #expect(!bytes.starts(with: Array("HTTP".utf8)) && bytes.count < 16)
                    }
                    #expect(await failures(gateway) == ["version": 30, "not-tls": 60])
                    try await RawClient.with(port: gateway.port, tls: .init(second)) { client in
                        try? await client.send(Self.request)
                        let status = try? await client.response().status
                        #expect(status == (least == .tls12 ? 200 : nil))
                    }
                    #expect(origin.requests.count == (least == .tls12 ? 1 : 0))
                }
            }
        }
    }

    @Test func clientsNeedCertificateOfNamedRootsWhereItIsRequired() async throws {
        try await CertificateFolder.with { folder in
            var tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            try folder.make("ca", "DNS:ca.example")
            try folder.sign("c", by: "ca")
            try folder.make("other", "DNS:other.example")
            for demand in Configuration.TLS.Demand.allCases {
                tls.client = .init(roots: folder.file("ca.pem"), demand: demand)
                try await withGateway(tls) { gateway, _ in
                    for (own, isServed) in [("c", true), (nil, demand == .optional), ("other", false)] {
                        let context = try folder.client(trusting: "a", as: own)
                        try await RawClient.with(port: gateway.port, tls: .init(context)) { client in
                            try? await client.send(Self.request)
                            let status = try? await client.response().status
                            #expect(status == (isServed ? 200 : nil), "\(demand) \(own ?? "none")")
                        }
                    }
                    let rejected = demand == .required ? 2 : 1
                    try await wait { await failures(gateway) == ["client-certificate": rejected] }
                }
            }
        }
    }

    @Test func managerSocketHasTLSOfItsAddressAndIsNeverInClear() throws {
        let socket = try ListeningDescriptor()
        let inherited = try InheritedSocket(descriptor: socket.descriptor)
        let tls = Configuration.TLS(certificates: [.init(name: "a", chain: "a.pem", key: "a.key")])
        let (same, other) = (inherited.address, ListenAddress(host: "127.0.0.1", port: 1))
        #expect(
            try GatewayListener.inherited([inherited], for: [.address(other), .address(same, tls: tls)])
                == [.inherited(inherited, tls: tls)]
        )
        #expect(try GatewayListener.inherited([inherited], for: [.address(other)]) == [.inherited(inherited)])
        #expect(
            try GatewayListener.inherited([inherited], for: [.address(same, http2: false)])
                == [.inherited(inherited, http2: false)]
        )
        #expect(
            try GatewayListener.inherited([inherited], for: [.address(other, tls: tls), .address(same)])
                == [.inherited(inherited)]
        )
        let refusal = #expect(throws: InvalidSetting.self) {
            try GatewayListener.inherited([inherited], for: [.address(other, tls: tls)])
        }
        #expect(refusal?.description.contains("'\(same)'") == true)
    }

    // MARK: Ends

    @Test func closesAndCountsHandshakeThatIsNotCompletedInTime() async throws {
        try await withGateway(configure: { $0.timeouts.request = .passing(50) }) { gateway, _, _ in
            try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                // Nothing, or the first bytes of a record. On a busy machine it may be too late for
                // them.
                if !number.isMultiple(of: 2) { try? await client.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]) }
                #expect(await client.read() == nil)
            }
            #expect(await failures(gateway) == ["timeout": 30])
            try await wait { gateway.server.connectionCount == 0 }
        }
    }

    @Test func closesConnectionBeyondTheLimitWithoutHandshake() async throws {
        try await withGateway(configure: { $0.maximumConnections = 1 }) { gateway, _, context in
            try await RawClient.with(port: gateway.port, tls: .init(context)) { first in
                try await first.send(Self.request)
                #expect(try await first.response().status == 200)
                try await RawClient.onEach(of: 30, port: gateway.port) { client, _ in
                    #expect(await client.readToEnd().isEmpty)
                }
                let refusals = await values(gateway, "holdfast_refusals_total", by: "problem").filter { $0.value > 0 }
                #expect(refusals == ["too-many-connections": 30])
                #expect(await failures(gateway).isEmpty)
                try await first.send(Self.request)
                #expect(try await first.response().status == 200)
            }
        }
    }

    @Test(arguments: [true, false])
    func halfClosedClientGetsItsResponseWithOrWithoutAlert(hasAlert: Bool) async throws {
        try await withGateway(respond: { _ in .ok("v1", fields: "Cache-Control: no-store\r\n") }) {
            gateway,
            origin,
            context in
            try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(context)) { client, _ in
                try await client.send(Self.request)
                if hasAlert { try await client.closeOutput() } else { try await client.shutDownSocket() }
                #expect(try await client.response().text == "v1")
                #expect(await client.read() == nil)
            }
            #expect(origin.requests.count == 30)
        }
    }

    /// RFC 9112 §9.8. Mutants: an aborted connection is closed as any other.
    /// A client that has sent its alert before gets it as any other.
    @Test(
        arguments: [true, false],
        [true, false]
    )
    func contentThatEndsWithTheConnectionHasAlertOnlyIfWhole(isWhole: Bool, isHalfClosed: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        try await withGateway(respond: { _ in
            isWhole ? .respondAndClose(head + "0\r\n\r\n") : .respondAndReset(Array(head.utf8))
        }) { gateway, _, context in
            try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(context)) { client, _ in
                try await client.send("GET /a HTTP/1.0\r\nHost: a.example\r\n\r\n")
                // It may be broken off before.
                if isHalfClosed { try? await client.closeOutput() }
                let bytes = await client.readToEnd()
                #expect(!isWhole || bytes.suffix(5) == Array("hello".utf8))
                // A reset is no error of TLS, and it is no alert either.
                if isWhole { #expect(!client.isCutShort) } else { #expect(client.hasNoAlert) }
            }
        }
    }

    /// Mutant: writing does not wait for slow clients.
    @Test func slowClientGetsWholeResponseAndStalledOneIsDisconnected() async throws {
        let content = String(repeating: "0123456789abcdef", count: 256 << 10)
        try await withGateway(respond: { _ in .ok(content, fields: Self.fresh) }) { gateway, _, context in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await RawClient.with(port: gateway.port, receiveBuffer: 8 << 10, tls: .init(context)) {
                            client in
                            try await client.send(Self.request + Self.request)
                            #expect(try await client.response().content.count == content.utf8.count)
                            #expect(try await client.response().content.count == content.utf8.count)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        // More than the sockets take of one that does not read: 4 MiB may be theirs as a whole.
        let longer = String(repeating: content, count: 4)
        try await withGateway(
            respond: { _ in .ok(longer, fields: Self.fresh) },
            configure: { $0.timeouts.write = .passing(100) }
        ) { gateway, _, context in
            try await RawClient.onEach(of: 4, port: gateway.port, tls: .init(context)) { client, _ in
                try await client.send(Self.request)
                _ = await client.read()
                try await wait { gateway.server.connectionCount == 0 }
            }
        }
    }

    /// Mutant: event loops sign.
    @Test func signaturesOfRSAHoldUpNoClientWithECDSA() async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [
                try folder.make("a", "DNS:a.example"), try folder.make("r", "DNS:r.example", rsa: true),
            ])
            // With TLS 1.3 the padding is PSS, and with 1.2 either.
            let contexts = [try folder.client(trusting: "a", "r"), try folder.client(trusting: "a", "r", to: .tlsv12)]
            try await withGateway(tls) { gateway, _ in
                let gate = DispatchSemaphore(value: 0)
                for _ in 0..<RSAKey.threadCount { RSAKey.threads.submit { _ in gate.wait() } }
                let served = Counter()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<30 {
                        group.addTask {
                            let tls = RawClient.TLS(contexts[number % 2], name: "r.example")
                            try await RawClient.with(port: gateway.port, tls: tls) { client in
                                try await client.send(Self.request)
                                #expect(try await client.response().text == "v1")
                                served.add(1)
                            }
                        }
                    }
                    defer { for _ in 0..<RSAKey.threadCount { gate.signal() } }
                    try await wait { gateway.server.connectionCount == 30 }
                    try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(contexts[0])) { client, _ in
                        try await client.send(Self.request)
                        #expect(try await client.response().text == "v1")
                    }
                    #expect(served.value == 0)
                }
                #expect(served.value == 30)
            }
        }
    }

    /// Long responses and uploads pass through the buffers of NIOSSL, which never shrink. Mutants:
    /// a response is encrypted as a whole; as many bytes are read as have come.
    /// This holds whatever it has sent and received.
    @Test func idleConnectionKeepsLittleMemory() async throws {
        let content = String(repeating: "0123456789abcdef", count: 64 << 10)
        let upload = "PUT /a HTTP/1.1\r\nHost: a.example\r\nContent-Length: \(content.utf8.count)\r\n\r\n" + content
        try await withGateway(respond: { _ in .ok(content, fields: Self.fresh) }) { gateway, _, context in
            try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(context)) { client, _ in
                // From the origin, from memory, and from the hot table.
                for request in [Self.request, Self.request, Self.request, Self.request, upload] {
                    try await client.send(request)
                    #expect(try await client.response().content.count == content.utf8.count)
                }
                for channel in gateway.server.connections.channels {
                    let capacities = try await channel.eventLoop.submit { Self.bufferCapacities(of: channel) }.get()
                    // `nil`: the connection has ended meanwhile.
                    guard let capacities else { continue }
                    #expect(capacities.written <= 32 << 10 && capacities.read <= 64 << 10, "\(capacities)")
                }
            }
        }
    }

    /// The bytes of the buffers of NIOSSL, which it shows to its own tests alone.
    private static func bufferCapacities(of channel: any Channel) -> (written: Int, read: Int)? {
        guard let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self),
            let parts = Mirror(reflecting: handler).superclassMirror
        else { return nil }
        let written = parts.descendant("connection", "bio", "some", "outboundBuffer") as? ByteBuffer
        let read = parts.descendant("plaintextReadBuffer", "some") as? ByteBuffer
        // Names that have changed are large, so that the test fails.
        return (written?.capacity ?? .max, read?.capacity ?? .max)
    }

    @Test func stoppingClosesIdleConnectionsAndHandshakesAndServesTheRest() async throws {
        let gate = AsyncStream<Void>.makeStream()
        try await withGateway(
            respond: { request in
                request.target == "/slow"
                    ? .stream { writer in
                        for await _ in gate.stream { break }
                        try await writer.write(
                            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: no-store\r\n\r\nv2"
                        )
                    } : .ok("v1", fields: Self.fresh)
            },
            configure: { $0.timeouts.lateRequest = .passing(50) }
        ) { gateway, origin, context in
            try await RawClient.with(port: gateway.port, tls: .init(context)) { slow in
                try await slow.send("GET /slow HTTP/1.1\r\nHost: a.example\r\n\r\n")
                try await RawClient.with(port: gateway.port, tls: .init(context)) { idle in
                    try await idle.send(Self.request)
                    #expect(try await idle.response().text == "v1")
                    try await RawClient.with(port: gateway.port) { silent in
                        try await wait { gateway.server.connectionCount == 3 && !origin.requests.isEmpty }
                        async let stopped: Void = gateway.server.stop()
                        #expect(await idle.read() == nil)
                        #expect(!idle.isCutShort)
                        #expect(await silent.read() == nil)
                        gate.continuation.finish()
                        #expect(try await slow.response().text == "v2")
                        #expect(await slow.read() == nil)
                        await stopped
                    }
                }
            }
        }
    }

    // MARK: Records

    /// Every byte of a connection, from its first to the end of its request, at which the bytes may
    /// be cut into two segments.
    @Test func servesConnectionsCutAtAnyByte() async throws {
        try await withGateway { gateway, _, context in
            let count = Mutex(0)
            let counting = RawClient.TLS(context, name: "a.example") {
                CuttingHandler(nil) { sent in count.withLock { $0 = sent } }
            }
            try await RawClient.with(port: gateway.port, tls: counting) { client in
                try await client.send(Self.request)
                #expect(try await client.response().text == "v1")
            }
            let length = count.withLock { $0 }
            #expect(length > 300)
            let next = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        while true {
                            let place = next.next() + 1
                            guard place < length else { return }
                            let cutting = RawClient.TLS(context, name: "a.example") { CuttingHandler(place) }
                            try await RawClient.with(port: gateway.port, tls: cutting) { client in
                                try await client.send(Self.request)
                                #expect(try await client.response().text == "v1", "cut at \(place)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(await failures(gateway).isEmpty)
        }
    }

    @Test func recordOf16KiBCutAnywhereHasItsWholeContent() async throws {
        let body = String(repeating: "0123456789abcdef", count: 1 << 10)
        let head = "PUT /a HTTP/1.1\r\nHost: a.example\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        // The head has the first record, and the content the second.
        let places = Array(1..<48) + Array(stride(from: 48, to: 16_384, by: 331)) + Array(16_370..<16_406)
        try await withGateway(respond: { request in
            .ok(request.content.elementsEqual(body.utf8) ? "whole" : "\(request.content.count)")
        }) { gateway, _, context in
            let next = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        let cutting = RawClient.TLS(context) { CuttingHandler(nil) }
                        try await RawClient.with(port: gateway.port, tls: cutting) { client in
                            while true {
                                let index = next.next()
                                guard index < places.count else { return }
                                try await client.send(head)
                                try await client.cutNext(at: places[index])
                                try await client.send(body)
                                #expect(try await client.response().text == "whole", "cut at \(places[index])")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func brokenRecordsEndTheConnectionAndReachNoOrigin() async throws {
        try await withGateway { gateway, origin, context in
            try await RawClient.onEach(of: 30, port: gateway.port, tls: .init(context)) { client, number in
                try await client.send(Self.request)
                #expect(try await client.response().text == "v1")
                let record: [UInt8] = [0x17, 0x03, 0x03, 0x00, 0x20] + Array(repeating: UInt8(number), count: 32)
                // Not a record, one with a wrong tag, and a part of one.
                try await client.sendBelowTLS(
                    number % 3 == 0 ? [0x47, 0x45, 0x54] : number % 3 == 1 ? record : Array(record[..<9])
                )
                if number % 3 != 1 { try await client.shutDownSocket() }
                #expect(await client.readToEnd().isEmpty)
            }
            #expect(origin.requests.count == 1)
        }
    }
}

/// Cuts the bytes that a client sends into two segments.
final class CuttingHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The place of the cut, counted from the next byte.
    var place: Int?
    private let sent: @Sendable (Int) -> Void
    private var count = 0

    init(_ place: Int?, sent: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.place = place
        self.sent = sent
    }

    /// Bytes that are sent when the second segment is: none may overtake it.
    private var held: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        count += bytes.readableBytes
        sent(count)
        guard held.isEmpty else { return held.append((bytes, promise)) }
        guard let cut = place else { return context.write(data, promise: promise) }
        guard cut < bytes.readableBytes else {
            place = cut - bytes.readableBytes
            return context.write(data, promise: promise)
        }
        place = nil
        if cut > 0, let first = bytes.readSlice(length: cut) {
            context.writeAndFlush(wrapOutboundOut(first), promise: nil)
        }
        held = [(bytes, promise)]
        // The first segment is likely to be read by then.
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1)) {  // lets time pass
            for (bytes, promise) in self.held { context.write(self.wrapOutboundOut(bytes), promise: promise) }
            self.held = []
            context.flush()
        }
    }
}
