import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore
import OfflineStore

/// Hits through the engine: from a request through the policy's decision to a response with its
/// body. The transport must not be called.
enum EngineReading {
    private struct NoTransport: Transport {
        func send(_ request: TransportRequest) async throws -> TransportResponse {
            throw TransportError(code: .other, message: "Everything is stored; nothing should be sent.")
        }
    }

    /// - Parameters, from `options`: those of ``Store``, and `count` of the stored
    ///   responses, `reads`.
    @concurrent
    static func measure(_ options: Options) async throws -> Report {
        let store = try await Store.open(options)
        let count = try options.number("count")
        let reads = try options.number("reads")
        let engine = CacheEngine(
            store: store.responses,
            transport: NoTransport(),
            credentialSecret: Array(repeating: 7, count: 32),
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        )
        let requests = Content.numbers(reads, below: count).map { number in
            CacheRequest(
                head: HTTPRequest(
                    method: .get,
                    scheme: "https",
                    authority: "api.example",
                    path: "/v2/items/\(number)",
                    headerFields: [.accept: "*/*", .acceptEncoding: "gzip", .userAgent: "benchmark"]
                )
            )
        }
        try await respond(engine, Array(requests.prefix(reads / 10)))
        let watch = Stopwatch()
        try await respond(engine, requests)
        let report = watch.report(count: reads)
        await engine.shutDown()
        try await store.close()
        return report
    }

    @concurrent
    private static func respond(_ engine: CacheEngine, _ requests: [CacheRequest]) async throws {
        for request in requests {
            let response = try await engine.respond(to: request)
            guard response.source == .store else { throw BenchmarkError("The network was asked.") }
            let body = try await response.body.collect(upTo: 1 << 20)
            if body.readableBytes == 0 { throw BenchmarkError("A body is empty.") }
        }
    }
}
