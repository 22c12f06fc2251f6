import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import TestSupport
import Testing

@testable import HTTPClientTransport

/// An origin may close a kept connection when a request is just sent on it. RFC 9110 §9.2.2, RFC
/// 9112 §9.3.1
@Suite(.timeLimit(.minutes(20))) struct RepeatedRequestTests {
    private static func request(
        _ origin: CuttingOrigin,
        _ path: String,
        _ method: HTTPRequest.Method = .get,
        body: BodyStream? = nil
    ) -> TransportRequest {
        let head = HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: path)
        return TransportRequest(head: head, body: body)
    }

    /// The codes of thirty requests at once.
    private static func codes(
        _ transport: HTTPClientTransport,
        _ request: @escaping @Sendable (Int) -> TransportRequest
    ) async -> [TransportError.Code?] {
        await withTaskGroup(of: TransportError.Code?.self) { group in
            for number in 0..<30 { group.addTask { await code(transport, request(number)) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(arguments: [CuttingOrigin.Reaction.close(), .reset])
    func thirtyKeptConnectionsThatCloseFailNoRequest(_ end: CuttingOrigin.Reaction) async throws {
        try await HTTPClientTransport.with { transport in
            try await CuttingOrigin.with(holding: 30) { request in
                guard request.number == 0 else { return end }
                return request.target.hasPrefix("/first") ? .hold(CuttingOrigin.ok) : .respond(CuttingOrigin.ok)
            } _: { origin in
                let first = await Self.codes(transport) { Self.request(origin, "/first/\($0)") }
                #expect(first.allSatisfy { $0 == nil } && origin.connectionCount == 30)
                let second = await Self.codes(transport) { Self.request(origin, "/second/\($0)") }
                #expect(second.allSatisfy { $0 == nil }, "\(second)")
                #expect(origin.requests.contains { $0.number > 0 })
                #expect((0..<30).allSatisfy { origin.count("/second/\($0)") <= 2 })
            }
        }
    }

    /// Each cut of a response, over thirty connections at once.
    @Test func onlyARequestWithoutAnyByteOfAResponseIsRepeated() async throws {
        try await HTTPClientTransport.with { transport in
            let bytes = CuttingOrigin.ok.utf8
            try await CuttingOrigin.with { request in
                let cut = request.target.split(separator: "/").first.flatMap { Int($0) } ?? 0
                guard request.repeats == 0 else { return .respond(CuttingOrigin.ok) }
                return .close(after: String(decoding: bytes.prefix(cut), as: UTF8.self))
            } _: { origin in
                for cut in 0..<bytes.count {
                    let codes = await Self.codes(transport) { Self.request(origin, "/\(cut)/\($0)") }
                    let expected: TransportError.Code? = cut == 0 ? nil : .connectionClosed
                    #expect(codes.allSatisfy { $0 == expected }, "cut after \(cut) bytes: \(codes)")
                    let counts = Set((0..<30).map { origin.count("/\(cut)/\($0)") })
                    #expect(counts == [cut == 0 ? 2 : 1], "cut after \(cut) bytes")
                }
            }
        }
    }

    @Test func secondFailureIsAnError() async throws {
        try await HTTPClientTransport.with { transport in
            try await CuttingOrigin.with { _ in
                .close()
            } _: { origin in
                #expect(await code(transport, Self.request(origin, "/")) == .connectionClosed)
                #expect(origin.requests.count == 2 && origin.connectionCount == 2)
            }
        }
    }

    enum Content: Sendable { case none, inMemory, streamed }

    @Test(
        arguments: [
            (.get, .none, nil, true), (.head, .none, nil, true), (.options, .none, nil, true),
            (.delete, .none, nil, true), (.put, .inMemory, nil, true), (.init("QUERY")!, .inMemory, nil, true),
            // A stream was read while it was sent.
            (.put, .streamed, nil, false), (.get, .streamed, nil, false),
            (.post, .none, nil, false), (.post, .inMemory, nil, false), (.patch, .inMemory, nil, false),
            // The caller knows better.
            (.post, .inMemory, true, true), (.get, .none, false, false), (.put, .inMemory, false, false),
        ] as [(HTTPRequest.Method, Content, Bool?, Bool)]
    )
    func onlyIdempotentRequestsWithContentInMemoryAreRepeated(
        _ method: HTTPRequest.Method,
        _ content: Content,
        _ isIdempotent: Bool?,
        _ isRepeated: Bool
    ) async throws {
        let text = "content"
        let body: BodyStream? =
            switch content {
            case .none: nil
            case .inMemory: BodyStream(ByteBuffer(string: text))
            case .streamed:
                BodyStream(length: 7) {
                    var rest = [ByteBuffer(string: text)]
                    return { rest.popLast() }
                }
            }
        try await HTTPClientTransport.with { transport in
            try await CuttingOrigin.with { request in
                guard request.repeats > 0 else { return .close() }
                return .respond(method == .head ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : CuttingOrigin.ok)
            } _: { origin in
                let codes = await Self.codes(transport) { number in
                    var request = Self.request(origin, "/\(number)", method, body: body)
                    if let isIdempotent { request.isIdempotent = isIdempotent }
                    return request
                }
                #expect(codes.allSatisfy { $0 == (isRepeated ? nil : .connectionClosed) })
                #expect((0..<30).allSatisfy { origin.count("/\($0)") == (isRepeated ? 2 : 1) })
                #expect(origin.requests.allSatisfy { $0.content == (content == .none ? "" : text) })
            }
        }
    }

    @Test func refusedConnectionIsNotRepeated() async throws {
        let log = CapturedLog()
        try await HTTPClientTransport.with(logger: log.logger(.debug)) { transport in
            let held = try HeldPort()
            let head = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(held.port)", path: "/")
            #expect(await code(transport, TransportRequest(head: head)) == .connect)
            #expect(log.lines.allSatisfy { !$0.hasPrefix("Repeating") })
            // The messages do show a repeated request.
            try await CuttingOrigin.with { _ in
                .close()
            } _: { origin in
                _ = await code(transport, Self.request(origin, "/"))
            }
            #expect(log.lines.filter { $0.hasPrefix("Repeating") }.count == 1)
        }
    }
}
