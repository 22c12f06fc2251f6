import Holdfast
import ServiceLifecycle

/// Closes a client when its service group shuts down.
///
/// A group shuts its services down in reverse order. List this service before the services that use
/// the client, so that they end first.
struct CachingClientService: Service {
    let client: CachingClient

    func run() async throws {
        try? await gracefulShutdown()
        try await client.close()
    }
}
