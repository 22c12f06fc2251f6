import AsyncHTTPClient
import Foundation
import Holdfast
import HoldfastTesting
import NIOHTTP1
import SampleOrigin
import TestSupport
import Testing

/// The page "Transports".
@Suite(.timeLimit(.minutes(20))) struct TransportsPageTests {
    @Test func retriesOfThePageAreSent() async throws {
        var configuration = CachingClient.Configuration(environment: .production)
        configuration.retry = RetryPlan(limit: 2, delay: .milliseconds(200))
        #expect(configuration.retry == RetryPlan())
    }

    @Test func timeoutsOfThePageAreTheDefaults() {
        let impatient = HTTPClientTransport.Configuration(connectTimeout: .seconds(2), idleTimeout: .seconds(5))
        #expect(impatient.connectTimeout == .seconds(2))
        #expect(impatient.idleTimeout == .seconds(5))
        let defaults = HTTPClientTransport.Configuration()
        #expect(defaults.connectTimeout == .seconds(10))
        #expect(defaults.idleTimeout == .seconds(30))
        #expect(defaults.connectionsPerOrigin == nil)
        #expect(defaults.keptTime == .seconds(20))
    }

    @Test func certificatesOfThePageAreRead() async throws {
        let password = "secret"
        let error = await #expect(throws: TransportError.self) {
            let transport = HTTPClientTransport.Configuration(
                tls: try HTTPClientTransport.TLS(
                    trustRoots: .file("/etc/app/ca.pem"),
                    certificate: .file("/etc/app/client.pem"),
                    key: .file("/etc/app/client.key")
                ),
                proxy: HTTPClientTransport.Proxy(
                    host: "proxy.example.com",
                    port: 3128,
                    credentials: .init(user: "app", password: password)
                )
            )
            let client = try await CachingClient.open(store: "feed.store", transportConfiguration: transport)
            try await client.close()
        }
        #expect(error?.message.hasPrefix("'/etc/app/ca.pem' (trustRoots) cannot be read") == true)
    }

    @Test func jarOfThePageKeepsCookies() async throws {
        var configuration = CachingClient.Configuration()
        let jar = CookieJar()
        configuration.plugins = [jar]
        try await withTestClient(configuration) { test in
            test.transport.script("https://a.example/", .ok("", fields: [.setCookie: "sid=1"]))
            _ = try await test.client.get("https://a.example/", as: NoContent.self)
            #expect(jar.count == 1)
            jar.removeAll()
            #expect(jar.count == 0)
        }
    }

    @Test func ownTransportOfThePageKeepsTheStore() async throws {
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.path)
        let own = HTTPClient(configuration: .init(redirectConfiguration: .disallow, decompression: .disabled))
        let client = CachingClient(store: store, transport: OwnTransport(client: own))
        try await SampleOrigin.withOrigin { origin in
            let feed = FeedEndpoint(baseURL: origin.baseURL)
            let fetched = try await client.fetch(feed)
            await origin.stop()
            let stored = try await client.fetch(feed, .networkFirst)
            #expect(fetched.source == .network && stored.source == .store && stored.value == fetched.value)
        }
        try await client.close()
        try await store.close()
        try await own.shutdown()
    }

    /// The recipe is short: it sends paths as its client normalizes them, and does not know why a
    /// connection failed. It keeps every other rule.
    @Test func ownTransportOfThePageKeepsTheContract() async throws {
        let own = HTTPClient(configuration: .init(redirectConfiguration: .disallow, decompression: .disabled))
        let findings = try await TransportContract(OwnTransport(client: own), timeout: .seconds(600)).run()
        #expect(findings.isEmpty, "\(findings)")
        try await own.shutdown()
    }
}

struct OwnTransport: Transport {
    let client: HTTPClient

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let (head, content) = (request.head, request.body)
        let origin = "\(head.scheme ?? "https")://\(head.authority ?? "")"
        do {
            var outgoing = HTTPClientRequest(url: origin + (head.path ?? "/"))
            outgoing.method = HTTPMethod(rawValue: head.method.rawValue)
            for field in head.headerFields { outgoing.headers.add(name: field.name.rawName, value: field.value) }
            outgoing.body = content.map { content in
                .stream(content, length: content.length?.bytes(upTo: .max).map { .known($0) } ?? .unknown)
            }
            let response = try await client.execute(outgoing, deadline: .distantFuture)
            var fields = HTTPFields()
            for (name, value) in response.headers {
                if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
            }
            return TransportResponse(
                head: HTTPResponse(status: .init(code: Int(response.status.code)), headerFields: fields),
                body: BodyStream {
                    // One reader takes one chunk after the other.
                    nonisolated(unsafe) var chunks = response.body.makeAsyncIterator()
                    return {
                        do { return try await chunks.next() } catch { throw TransportError(error, from: origin) }
                    }
                }
            )
        } catch {
            throw TransportError(error, from: origin)
        }
    }
}

extension TransportError {
    /// The code decides whether the origin counts as unreachable.
    init(_ error: any Error, from origin: String) {
        let code: Code =
            switch error as? HTTPClientError {
            case nil where error is CancellationError: .cancelled
            case nil where error is HTTPParserError: .connectionClosed
            case nil: .connect
            case .connectTimeout?: .connectTimeout
            case .readTimeout?, .deadlineExceeded?: .timeout
            case .remoteConnectionClosed?: .connectionClosed
            default: .other
            }
        self.init(code: code, message: "The exchange with '\(origin)' failed.", cause: error)
    }
}
