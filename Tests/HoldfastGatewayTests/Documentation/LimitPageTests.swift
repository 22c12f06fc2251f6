import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTracing
import OfflineStore
import Testing

@testable import EventLoops
@testable import HTTPWire
@testable import HoldfastGateway
@testable import OriginConnections

/// docs/limits.md.
@Suite(.timeLimit(.minutes(20)))
struct LimitPageTests {
    @Test func eachStatedDefaultIsInEffect() throws {
        let configuration = GatewayConfiguration(origin: try GatewayOrigin("http://a.example"))
        let transport = OriginTransport.Configuration()
        let store = CacheManager.Configuration()
        let options = EngineOptions()
        let counted: [String: Int] = [
            "listeners": GatewayListener.limit, "connections": configuration.maximumConnections,
            "certificates per listener": HoldfastConfiguration.Configuration.TLS.certificateLimit,
            "origins with their own settings": HoldfastConfiguration.Configuration.originLimit,
            "files of a configuration": HoldfastConfiguration.Configuration.fileLimit,
            "levels of included files": HoldfastConfiguration.Configuration.includeDepthLimit,
            "length of all files of a configuration": HoldfastConfiguration.Configuration.lengthLimit,
            "length of all values with variables": HoldfastConfiguration.Configuration.expandedLengthLimit,
            "addresses per origin, and mirrors per origin": HoldfastConfiguration.Configuration.Origin.serverLimit,
            "request line": configuration.messageLimits.startLine,
            "field lines": configuration.messageLimits.fieldBlock,
            "number of field lines": configuration.messageLimits.fieldCount,
            "chunk line": configuration.messageLimits.chunkLine,
            "chunk extensions": configuration.messageLimits.chunkExtensions,
            "trailers": configuration.messageLimits.trailers, "request content": Int(configuration.contentLimit),
            "ranges per request": CachePolicy.maximumParts, "length of a Range field": CachePolicy.maximumRangeLength,
            "upload rate": Int(try #require(configuration.uploadRate)),
            "keyed content": configuration.keyedContentLimit,
            "nesting of keyed JSON": CanonicalJSON.maximumDepth, "values of keyed JSON": CanonicalJSON.maximumCount,
            "paths in ignore.members": MemberPaths.limit,
            "stored event stream": Int(EventStreamRule(ending: "").largest),
            "discarded request content": configuration.discardedContentLimit,
            "concurrent requests per origin": options.inFlightLimit,
            "requests waiting per origin": options.waitingLimit,
            "stored content in memory for running responses": options.responseMemory,
            "unsent response bytes in the kernel": UnsentBytes.limit,
            "content of unknown length without a client": Int(UnreadLimit.bytes),
            "tags per response": ResponseDraft.maximumTagCount, "length of a tag": ResponseDraft.maximumTagLength,
            "rewritten content": Int(ResponseRewriting.contentLimit),
            "responses compressed at a time": ResponseCompression.maximumAtOnce,
            "decoded content": GunzipStage.limit,
            "rewritten media types per route": HoldfastConfiguration.Configuration.Rewriting
                .bodiesLimit,
            "page of error-pages": HoldfastConfiguration.Configuration.ErrorPages.sizeLimit,
            "page of error-pages with placeholders":
                HoldfastConfiguration.Configuration.ErrorPages.filledSizeLimit,
            "placeholders per page of error-pages": HoldfastConfiguration.Configuration.ErrorPages.placeholderLimit,
            "routes with respond": HoldfastConfiguration.Configuration.fixedRouteLimit,
            "text of respond": FixedAnswer.bodyLimit, "location of respond": FixedAnswer.locationLimit,
            "remembered times of origins' last responses": OriginContacts.limit,
            "interim responses": transport.messageLimits.interimResponses,
            "idle connections per origin": transport.maximumIdleConnections,
            "remembered uses of responses that are not stored": UseCounts.limit,
            "variants per key": store.maximumVariantsPerKey,
            "memory": store.memoryBudget, "resident body": store.maximumResidentBody,
            "buffered access log lines": AccessLog.bufferLimit,
            "length of an access log line": AccessLogFormat.lineLimit,
            "series of /metrics": MetricsRegistry.standardTotalLineLimit,
            "queued spans": TracingConfiguration.standardQueueLimit,
            "text in a span": RecordedSpan.textLimit, "duration series per origin": OriginTelemetry.share,
            "concurrent HTTP/2 requests per connection": HTTP2Session.Settings().concurrentStreams,
            "unread content of an HTTP/2 request": HTTP2Session.Settings().streamWindow,
            "useless work on an HTTP/2 connection, in points": HTTP2Patience.limit,
            "smallest HTTP/2 data frame": HTTP2Stream.leastFrame,
            "tunnels": configuration.maximumTunnels, "clients with a rate of their own": RateBuckets.limit,
            "addresses per list": HoldfastConfiguration.Configuration.ClientLists.limit,
            "hosts of the forward proxy": HoldfastConfiguration.Configuration.ForwardProxy.hostLimit,
            "ports of the forward proxy": HoldfastConfiguration.Configuration.ForwardProxy.portLimit,
            "hosts that clients choose by patterns of the forward proxy": ChosenHosts.limit,
            "protocols per route": HoldfastConfiguration.Configuration.Route.upgradeLimit,
            "line of the PROXY protocol": ProxyHeader.lineLimit,
            "extensions of the PROXY protocol": ProxyHeader.blockLimit, "disk": Int(store.budget),
            "pending writes": store.maximumPendingBytes, "requests of a job": JobFile.maximumRequests,
            "line of a job's file": JobFile.maximumLineLength,
            "origins whose identities a recording compares": JobRun.originLimit,
            "cookies that belong to the identities of a recording": JobRun.cookieLimit,
            "recorded requests that are compared with a refused one": NearestRequest.limit,
            "hosts that a job names because requests to them were unread, and because they were refused":
                UnrecordedHosts.limit,
            "jobs whose files a purge with remove reads": CacheManager.jobLimit,
            "request for a tunnel of a command's proxy": ConnectRequest.limit,
        ]
        let stated = StatedLimit.all.compactMap { limit in limit.value.map { (limit.name, $0) } }
        #expect(Dictionary(uniqueKeysWithValues: stated) == counted)
    }
}
