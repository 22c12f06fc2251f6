import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTracing
import OfflineStore
import Testing

@testable import HoldfastGateway

@Suite("docs/limits.md", .timeLimit(.minutes(20)))
struct LimitPageTests {
    @Test("Each stated default is the one in effect") func defaults() throws {
        let configuration = GatewayConfiguration(origin: try GatewayOrigin("http://a.example"))
        let transport = OriginTransport.Configuration()
        let store = CacheManager.Configuration()
        let options = EngineOptions()
        let counted: [String: Int] = [
            "listeners": GatewayListener.limit, "connections": configuration.maximumConnections,
            "certificates of a listener": HoldfastConfiguration.Configuration.TLS.certificateLimit,
            "origins with settings of their own": HoldfastConfiguration.Configuration.originLimit,
            "addresses of an origin, and its mirrors": HoldfastConfiguration.Configuration.Origin.serverLimit,
            "request line": configuration.messageLimits.startLine,
            "field lines": configuration.messageLimits.fieldBlock,
            "number of field lines": configuration.messageLimits.fieldCount,
            "chunk line": configuration.messageLimits.chunkLine,
            "chunk extensions": configuration.messageLimits.chunkExtensions,
            "trailers": configuration.messageLimits.trailers, "request content": Int(configuration.contentLimit),
            "members of a range": CachePolicy.maximumParts, "length of a range": CachePolicy.maximumRangeLength,
            "rate of content": Int(try #require(configuration.uploadRate)),
            "keyed content": configuration.keyedContentLimit,
            "unwanted content": configuration.discardedContentLimit, "requests at an origin": options.inFlightLimit,
            "requests waiting for an origin": options.waitingLimit,
            "stored content in memory for responses under way": options.responseMemory,
            "content of unknown length without a client": Int(UnreadLimit.bytes),
            "tags of a response": ResponseDraft.maximumTagCount, "length of a tag": ResponseDraft.maximumTagLength,
            "rewritten content": Int(ResponseRewriting.contentLimit),
            "media types of a route whose content is rewritten": HoldfastConfiguration.Configuration.Rewriting
                .bodiesLimit,
            "interim responses": transport.messageLimits.interimResponses,
            "kept connections": transport.maximumIdleConnections, "variants": store.maximumVariantsPerKey,
            "memory": store.memoryBudget, "resident body": store.maximumResidentBody,
            "lines of the access log that wait": AccessLog.bufferLimit,
            "line of the access log": AccessLogFormat.lineLimit,
            "series of /metrics": MetricsRegistry.standardTotalLineLimit,
            "spans that wait to be sent": TracingConfiguration.standardQueueLimit,
            "text in a span": RecordedSpan.textLimit, "series of an origin's durations": OriginTelemetry.share,
            "requests at a time on a connection of HTTP/2": HTTP2Session.Settings().concurrentStreams,
            "content of an HTTP/2 request that waits to be read": HTTP2Session.Settings().streamWindow,
            "patience with a connection of HTTP/2": HTTP2Patience.limit,
            "least frame of content of HTTP/2": HTTP2Stream.leastFrame,
            "tunnels": configuration.maximumTunnels,
            "protocols of a route": HoldfastConfiguration.Configuration.Route.upgradeLimit,
            "line of the PROXY protocol": ProxyHeader.lineLimit,
            "extensions of the PROXY protocol": ProxyHeader.blockLimit, "disk": Int(store.budget),
            "pending writes": store.maximumPendingBytes,
        ]
        let stated = StatedLimit.all.compactMap { limit in limit.value.map { (limit.name, $0) } }
        #expect(Dictionary(uniqueKeysWithValues: stated) == counted)
    }
}
