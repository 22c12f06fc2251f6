import Foundation
import Holdfast
import HoldfastTesting
import Logging
import SampleOrigin
import TestSupport
import Testing

/// A client on a real origin, a real store on disk and a clock that stands still.
struct ClientFixture {
    let origin: RunningOrigin
    let folder: String
    let clock: ManualClock
    let client: CachingClient

    static func run(
        _ configuration: CachingClient.Configuration = .init(),
        maxAge: Int = 60,
        transport: HTTPClientTransport.Configuration = .patient,
        _ body: (ClientFixture) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        try await SampleOrigin.withOrigin(
            OriginConfiguration(maxAge: maxAge, date: { clock.now().milliseconds / 1000 })
        ) {
            origin in
            let client = try await open(folder.store, clock, configuration, transport)
            let fixture = ClientFixture(origin: origin, folder: folder.store, clock: clock, client: client)
            do {
                try await body(fixture)
            } catch {
                try await client.close()
                throw error
            }
            try await client.close()
        }
    }

    static func open(
        _ folder: String,
        _ clock: ManualClock,
        _ configuration: CachingClient.Configuration = .init(),
        _ transport: HTTPClientTransport.Configuration = .patient
    ) async throws -> CachingClient {
        try await CachingClient.open(
            store: folder,
            configuration: configuration,
            transportConfiguration: transport,
            clock: clock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    var feed: FeedEndpoint { FeedEndpoint(baseURL: origin.baseURL) }
    func get(_ path: String) -> PathEndpoint { PathEndpoint(baseURL: origin.baseURL, path: path) }
}

struct Feed: Decodable, Sendable, Equatable {
    struct User: Decodable, Sendable, Equatable { var id: String, name: String }
    struct Moment: Decodable, Sendable, Equatable { var id: String, isLiked: Bool, likes: Int, title: String? }
    var userDetails: User
    var moments: [Moment]
}

struct FeedEndpoint: Endpoint {
    typealias Response = Feed
    var baseURL: String
    var path: String { "/moments" }
    var task: HTTPTask { .query(["userID": "harbour", "page": 1]) }
}

struct PathEndpoint: Endpoint {
    typealias Response = String
    var baseURL: String
    var path: String
    var method: HTTPRequest.Method = .get
    var task: HTTPTask = .plain
    var headers: HTTPFields = [:]
    var storage: CacheRequest.Storage = .byResponse
}

/// Expects `body` to throw a `HoldfastError` with this code.
func expect(
    _ code: HoldfastError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("Nothing was thrown; '\(code)' was expected.", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? HoldfastError)?.code == code, "\(error)", sourceLocation: sourceLocation)
    }
}

extension EmissionStream {
    /// All emissions, and the error that ended them.
    func collected() async -> (emissions: [Emission<Value>], failure: HoldfastError.Code?) {
        var emissions: [Emission<Value>] = []
        do {
            for try await emission in self { emissions.append(emission) }
            return (emissions, nil)
        } catch {
            return (emissions, (error as? HoldfastError)?.code ?? .transportFailed)
        }
    }
}
