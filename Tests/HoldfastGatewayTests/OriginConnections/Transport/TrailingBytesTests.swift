import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// docs/attacks.md, 63: a response followed by further bytes is not stored, and its connection
/// takes no other request.
@Suite(.timeLimit(.minutes(20)))
struct TrailingBytesTests {
    /// The framing of a response, and what the cache does with it.
    enum Kind: String, CaseIterable {
        case length, chunked, noContent, closing
        case relayed, unstorableChunks
        /// In both cases the response is already stored.
        case head, notModified

        var isAboutStored: Bool { self == .head || self == .notModified }

        /// The response in two pieces.
        var pieces: (String, String) {
            let stored = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
            let unstored = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
            let chunks = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
            return switch self {
            case .length: (stored + "Content-Length: 3\r\n\r\na", "bc")
            case .chunked: (stored + chunks, "2\r\nbc\r\n0\r\n\r\n")
            case .noContent: ("HTTP/1.1 204 No Content\r\n", "Cache-Control: max-age=60\r\n\r\n")
            case .closing: (stored + "Connection: close\r\nContent-Length: 3\r\n\r\na", "bc")
            case .relayed: (unstored + "Content-Length: 3\r\n\r\na", "bc")
            case .unstorableChunks: (unstored + chunks, "2\r\nbc\r\n0\r\n\r\n")
            case .head: ("HTTP/1.1 200 OK\r\n", "Cache-Control: max-age=60\r\nETag: \"1\"\r\nX-Turn: 2\r\n\r\n")
            case .notModified: ("HTTP/1.1 304 Not Modified\r\n", "ETag: \"1\"\r\nX-Turn: 2\r\n\r\n")
            }
        }
    }

    /// How the bytes after the response arrive.
    enum Arrival: String, CaseIterable {
        case withAll, withLast, right, later, wholeResponseLater

        var bytes: String {
            self == .wholeResponseLater
                ? "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nevil" : "evil"
        }
        /// They come when the client has its response.
        var isLate: Bool { self == .later || self == .wholeResponseLater }
        /// They come together with the response's end.
        var isKnownAtOnce: Bool { self == .withAll || self == .withLast }
    }

    struct Case: CustomTestStringConvertible {
        let kind: Kind
        let arrival: Arrival
        let clients: Int
        var isSecure = false
        var testDescription: String { "\(kind), \(arrival), \(clients) clients\(isSecure ? ", TLS" : "")" }

        static var all: [Case] {
            var all: [Case] = []
            for kind in Kind.allCases {
                for arrival in Arrival.allCases {
                    all.append(Case(kind: kind, arrival: arrival, clients: 1))
                    // Each HEAD's connection is checked before the next one. Only after the last
                    // HEAD the bytes are surely there.
                    if kind == .head, arrival.isLate { continue }
                    all.append(Case(kind: kind, arrival: arrival, clients: 30))
                }
            }
            for arrival in Arrival.allCases {
                all.append(Case(kind: .length, arrival: arrival, clients: 1, isSecure: true))
            }
            return all
        }

        /// Writes the response, and the bytes after it.
        ///
        /// - Parameter written: is incremented when all is written, or cannot be written.
        func step(_ gate: Gate, _ written: Counter) -> RawOrigin.Step {
            let (first, last) = kind.pieces
            let (arrival, bytes) = (arrival, arrival.bytes)
            return .stream { writer in
                defer { written.add(1) }
                switch arrival {
                case .withAll:
                    try await writer.write(first + last + bytes)
                case .withLast:
                    try await writer.write(first)
                    try await writer.write(last + bytes)
                case .right:
                    try await writer.write(first + last, bytes)
                case .later, .wholeResponseLater:
                    try await writer.write(first + last)
                    try await gate.wait()
                    try await writer.write(bytes)
                }
            }
        }
    }

    /// Mutants: bytes that are dropped; a response that is stored all the same; one that stays
    /// stored.
    @Test(arguments: Case.all)
    func storesNoResponseFollowedByBytes(_ sample: Case) async throws {
        let gate = Gate()
        let isLying = Atomic(false)
        let (lies, written) = (Counter(), Counter())
        let target = "/lie"
        try await RawOrigin.with(
            tls: sample.isSecure ? TestCertificates.serverContext() : nil,
            respond: { request in
                guard request.line.contains(" \(target) ") else { return .ok("next", fields: Self.cacheable) }
                guard isLying.load(ordering: .relaxed) else { return .ok("true", fields: Self.cacheable) }
                lies.add(1)
                return sample.step(gate, written)
            }
        ) { origin in
            try await Self.withGateway(origin) { gateway in
                if sample.kind.isAboutStored {
                    _ = try await gateway.get(target)
                    gateway.clock.advance(by: .seconds(61))
                }
                isLying.store(true, ordering: .relaxed)
                let method = sample.kind == .head ? "HEAD" : "GET"
                try await Self.all(sample.clients) { _ in
                    let response = try await gateway.send("\(method) \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(!response.text.contains("evil"))
                    let expected = sample.kind == .noContent ? 204 : 200
                    // A request that is sent while the bytes arrive gets them as its response. They
                    // are malformed, so it gets a 502.
                    let mayCross = sample.arrival == .right && sample.clients > 1
                    #expect(response.status == expected || mayCross && response.status == 502)
                }
                if sample.arrival.isKnownAtOnce { #expect(Self.isClean(gateway, sample)) }
                isLying.store(false, ordering: .relaxed)
                gate.open()
                // The bytes are in the gateway's sockets then.
                try await Self.until("All is written") { written.value == lies.value }

                try await Self.all(sample.clients) { number in
                    let next = try await gateway.get("/next/\(number)")
                    #expect(next.text == "next")
                }
                try await Self.until("The store is clean") { Self.isClean(gateway, sample) }
                let last = try await gateway.get(target)
                #expect(last.text == "true")
                for number in 0..<sample.clients {
                    let stored = try await gateway.get("/next/\(number)")
                    #expect(stored.text == "next")
                }
            }
        }
    }

    /// The bytes are in the socket, but the event loop has not polled since. Only a check of the
    /// socket finds them.
    ///
    /// Mutant: a connection that is used without this check.
    @Test(arguments: [false, true])
    func checksKeptConnectionBeforeItsNextRequest(isClosed: Bool) async throws {
        let descriptor = Mutex<NIOBSDSocket.Handle>(-1)
        let gate = Gate()
        let first = RawOrigin.Step.stream { writer in
            let handle = try await writer.descriptor()
            descriptor.withLock { $0 = handle }
            try await writer.write("HTTP/1.1 200 OK\r\n\(Self.cacheable)Content-Length: 1\r\n\r\na")
            try await gate.wait()
        }
        try await RawOrigin.with([first, .ok("next")]) { origin in
            try await Self.withGateway(origin) { gateway in
                _ = try await gateway.get("/a")
                let transport = gateway.transport
                let endpoint = OriginEndpoint(isSecure: false, host: "127.0.0.1", port: UInt16(origin.port))
                var kept: OriginConnection?
                try await Self.until("A connection is kept") {
                    kept = transport.pool.take(endpoint, near: nil)
                    return kept != nil
                }
                let connection = try #require(kept)
                let evil = Arrival.wholeResponseLater.bytes
                let response = try await connection.eventLoop.flatSubmit {
                    let promise = connection.eventLoop.makePromise(of: TransportResponse.self)
                    let handle = descriptor.withLock { $0 }
                    if isClosed {
                        _ = shutdown(handle, Int32(SHUT_RDWR))
                    } else {
                        _ = evil.withCString { send(handle, $0, evil.utf8.count, 0) }
                    }
                    _ = transport.pool.keep(connection, endpoint)
                    let head = HTTPRequest(method: .get, scheme: "http", authority: origin.authority, path: "/b")
                    let call = transport.callbacks?.begin(TransportRequest(head: head)) { result in
                        promise.completeWith(
                            result.map { answer in
                                guard case .response(let response) = answer else { fatalError("It is not relayed.") }
                                return response
                            }
                        )
                    }
                    if call == nil { promise.fail(CancellationError()) }
                    return promise.futureResult
                }.get()
                let content = try await response.body.collect(upTo: 100)
                #expect(String(buffer: content) == "next")
                #expect(origin.connectionCount == 2)
                if !isClosed { try await Self.until("The store is empty") { gateway.store.all.isEmpty } }
                gate.open()
            }
        }
    }

    /// The next request is on its way when the bytes come: they seem to begin its response.
    ///
    /// Mutant: only bytes that come before the next request count.
    @Test(arguments: [("evil\r\n\r\n", false), ("\r\n", false), ("HTTP/1.1 200\r\n:\r\n\r\n", true)])
    func crossesWithNextRequest(bytes: String, isKept: Bool) async throws {
        let steps: [RawOrigin.Step] = [
            .ok("a", fields: Self.cacheable), .respondAndClose(bytes), .ok("again", fields: Self.cacheable),
        ]
        try await RawOrigin.with(steps) { origin in
            try await Self.withGateway(origin) { gateway in
                _ = try await gateway.get("/a")
                let next = try await gateway.get("/b")
                #expect(next.status == 502)
                #expect(origin.requests.map(\.connection) == [0, 0])
                let last = try await gateway.get("/a")
                #expect(last.text == (isKept ? "a" : "again"))
            }
        }
    }

    /// A server may send a 408 before it closes an idle connection. That does not make the response
    /// before it false.
    @Test func keepsResponseBeforeRequestTimeout() async throws {
        let gate = Gate()
        let first = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\n\(Self.cacheable)Content-Length: 4\r\n\r\nkept")
            try await gate.wait()
            try await writer.write("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        }
        try await RawOrigin.with([first, .ok("next")]) { origin in
            try await Self.withGateway(origin) { gateway in
                _ = try await gateway.get("/a")
                gate.open()
                await origin.connectionCloses()
                let next = try await gateway.get("/b")
                #expect(next.text == "next")
                let kept = try await gateway.get("/a")
                #expect(kept.text == "kept")
                #expect(origin.requests.count == 2)
            }
        }
    }

    private static let cacheable = "Cache-Control: max-age=60\r\nETag: \"1\"\r\nX-Turn: 1\r\n"

    private static func withGateway(_ origin: RawOrigin, _ body: (RunningGateway) async throws -> Void) async throws {
        try await TestCertificates.withTrustRoots { roots in
            try await RunningGateway.with(
                origin: origin.url,
                configureTransport: { configuration in
                    configuration.trustRootsFile = roots
                    configuration.closingTimeout = .seconds(60)
                },
                body
            )
        }
    }

    /// Whether the store holds no response that was followed by bytes.
    private static func isClean(_ gateway: RunningGateway, _ sample: Case) -> Bool {
        gateway.store.all.filter { $0.key.components.target.uri.hasSuffix("/lie") }.allSatisfy { stored in
            let isFormer = stored.head.fields[Self.turn] == "1" && stored.bodyLength == 4
            return sample.kind.isAboutStored && stored.bodyLength == 4 && (isFormer || stored.head.isInvalidated)
        }
    }

    private static let turn = HTTPField.Name("X-Turn") ?? .age

    private static func all(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count { group.addTask { try await body(number) } }
            try await group.waitForAll()
        }
    }

    /// Waits until a condition holds that another task brings about, with a limit.
    private static func until(_ event: String, _ condition: () -> Bool) async throws {
        for _ in 0..<60_000 {
            if condition() { return }
            // It checks rarely, because the condition reads the whole store.
            try await Task.sleep(for: .milliseconds(2))  // lets time pass
        }
        Issue.record("It did not come about: \(event)")
        throw CancellationError()
    }
}
