import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPClientTransport
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix
import OfflineStore
import TestSupport
import Testing

/// Each number that an origin states goes through the library's whole path: AsyncHTTPClient, the
/// engine, and the store on disk. A trap ends the tests.
///
/// docs/attacks.md, 75. Mutant: a store that adds to a stated length before it compares it.
@Suite(.timeLimit(.minutes(20)))
struct StatedNumberTests {
    private static let numbers = [
        "0", "1", "2147483647", "2147483648", "2147483649", "4294967295", "4294967296", "9007199254740991",
        "9007199254740992", "9007199254740993", "9223372036854775806", "9223372036854775807", "9223372036854775808",
        "18446744073709551615", "18446744073709551616",
    ]
    private static let chunkSizes = [
        "0", "1", "7FFFFFFF", "80000000", "80000001", "FFFFFFFF", "100000000", "1FFFFFFFFFFFFF", "20000000000000",
        "20000000000001", "7FFFFFFFFFFFFFFE", "7FFFFFFFFFFFFFFF", "8000000000000000", "FFFFFFFFFFFFFFFF",
        "10000000000000000",
    ]

    enum Place: String, CaseIterable, Sendable {
        case contentLength, chunkSize, part, completeLength, firstByte
        case age, maxAge, staleWhileRevalidate, retryAfter, keepAlive, alternativeService, status
    }

    private static func response(_ place: Place, _ index: Int) -> String {
        let number = place == .chunkSize ? chunkSizes[index] : numbers[index]
        let next = UInt64(number).map { $0 == .max ? "18446744073709551616" : "\($0 + 1)" } ?? number
        let two = "Content-Length: 2\r\n\r\nxx"
        let fresh = "Cache-Control: max-age=60\r\nETag: \"a\"\r\n"
        let content = number == "0" ? "" : number == "1" ? "x" : "xx"
        let chunk = number == "0" ? "\r\n" : number == "1" ? "x\r\n0\r\n\r\n" : "xx"
        return switch place {
        case .contentLength: "200 OK\r\n\(fresh)Content-Length: \(number)\r\n\r\n\(content)"
        case .chunkSize: "200 OK\r\n\(fresh)Transfer-Encoding: chunked\r\n\r\n\(number)\r\n\(chunk)"
        case .part:
            "206 Part\r\n\(fresh)Content-Range: bytes 0-\(number)/*\r\nContent-Length: \(next)\r\n\r\nxx"
        case .completeLength: "206 Part\r\n\(fresh)Content-Range: bytes 0-1/\(number)\r\n\(two)"
        case .firstByte: "206 Part\r\n\(fresh)Content-Range: bytes \(number)-\(next)/*\r\n\(two)"
        case .age: "200 OK\r\n\(fresh)Age: \(number)\r\n\(two)"
        case .maxAge: "200 OK\r\nCache-Control: max-age=\(number)\r\n\(two)"
        case .staleWhileRevalidate: "200 OK\r\nCache-Control: max-age=0, stale-while-revalidate=\(number)\r\n\(two)"
        case .retryAfter: "503 No\r\nRetry-After: \(number)\r\n\(two)"
        case .keepAlive: "200 OK\r\n\(fresh)Keep-Alive: timeout=\(number), max=\(number)\r\n\(two)"
        case .alternativeService: "200 OK\r\n\(fresh)Alt-Svc: h2=\":\(number)\"; ma=\(number)\r\n\(two)"
        case .status: "\(number) OK\r\n\(fresh)\(two)"
        }
    }

    /// Responds to a request for `/place/index/…` with the bytes of that place, and closes.
    private final class Origin: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var received = ""

        static func start() async throws -> any Channel {
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Origin())
                    }
                }
                .bind(host: "127.0.0.1", port: 0)
                .get()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received += String(buffer: unwrapInboundIn(data))
            guard received.contains("\r\n\r\n") else { return }
            let parts = received.split(separator: "/").map { String($0) }
            received = ""
            let place = parts.count > 2 ? Place(rawValue: parts[1]) : nil
            let index = parts.count > 2 ? Int(parts[2]) : nil
            let rest = place.flatMap { place in index.map { StatedNumberTests.response(place, $0) } }
            let response = "HTTP/1.1 " + (rest ?? "200 OK\r\nContent-Length: 5\r\n\r\nalive")
            var lines = response.components(separatedBy: "\r\n")
            // No request is sent on a connection that is about to end.
            lines.insert("Connection: close", at: 1)
            let text = lines.joined(separator: "\r\n")
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)))
                .assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        }
    }

    @Test(arguments: Place.allCases)
    func passesOrFailsWithoutATrap(_ place: Place) async throws {
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.store)
        let origin = try await Origin.start()
        let transport = HTTPClientTransport(
            configuration: .init(connectTimeout: .seconds(3600), idleTimeout: .seconds(3600))
        )
        let engine = CacheEngine(
            store: store.responses,
            transport: transport,
            policy: CachePolicy(kind: .private),
            credentialSecret: [UInt8](repeating: 1, count: 32),
            parts: .init(clock: ManualClock()),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        func get(_ path: String, isPart: Bool) async throws -> String {
            var head = try HTTPRequest(url: "http://127.0.0.1:\(origin.localAddress?.port ?? 0)\(path)")
            if isPart { head.headerFields[.range] = "bytes=0-1" }
            let response = try await engine.respond(to: CacheRequest(head: head))
            return "\(response.head.status.code) " + String(buffer: try await response.body.collect(upTo: 100))
        }
        let isPart = [Place.part, .completeLength, .firstByte].contains(place)
        for index in Self.numbers.indices {
            var results: [String?] = []
            for _ in 0..<2 { results.append(try? await get("/\(place.rawValue)/\(index)/", isPart: isPart)) }
            let number = Self.numbers[index]
            switch place {
            case .contentLength, .chunkSize:
                // Content that is shorter than stated is an error, and is not stored.
                let content: String? = number == "0" ? "200 " : number == "1" ? "200 x" : nil
                #expect(results == [content, content], "\(place) \(number)")
            // The part of one byte is followed by another one, that of two is complete.
            case .part where number == "0" || number == "1": break
            case .part: #expect(results[0] == nil, "\(place) \(number)")
            case .completeLength, .firstByte: #expect(results[0] == "206 xx", "\(place) \(number)")
            case .retryAfter: #expect(results[0] == "503 xx", "\(place) \(number)")
            case .status: break
            default: #expect(results[0] == "200 xx", "\(place) \(number)")
            }
        }
        #expect(try await get("/alive", isPart: false) == "200 alive")
        await engine.shutDown()
        try await transport.shutDown()
        try await origin.close()
        #expect(try await store.statistics().storedBytes < 4 << 20)
        try await store.close()
    }
}
