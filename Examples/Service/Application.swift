import Foundation
import Holdfast
import Hummingbird
import MomentsExample
import NIOCore

/// Builds the whole service, for the executable and for tests.
///
/// The service is a `Service` of swift-service-lifecycle and shuts down gracefully. The caller must
/// close the repository's client afterwards.
///
/// - Parameters:
///   - port: The port to listen on; 0 selects a free port.
///   - onReady: Called with the port once connections are accepted.
func buildApplication(
    _ repository: MomentsRepository,
    host: String = "127.0.0.1",
    port: Int = 0,
    logger: Logger,
    onReady: @escaping @Sendable (Int) -> Void = { _ in }
) -> some ApplicationProtocol {
    let router = Router()
    router.add(middleware: ProblemMiddleware())
    // The health check ignores the upstream, because restarting this service does not help while
    // the upstream is unreachable.
    router.get("/health") { _, _ in Health() }
    router.get("/feed/{user}") { _, context in
        FeedResponse(try await repository.currentFeed(of: try context.segment("user")))
    }
    router.post("/moments/{id}/like") { _, context in
        LikeResponse(moment: try await repository.setLiked(true, momentID: try context.segment("id")))
    }
    return Application(
        router: router,
        configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: "moments-service"),
        onServerRunning: { channel in onReady(channel.localAddress?.port ?? port) },
        logger: logger
    )
}

extension RequestContext {
    /// Returns a path segment, percent-decoded.
    fileprivate func segment(_ name: String) throws -> String {
        let segment = try parameters.require(name)
        return segment.removingPercentEncoding ?? segment
    }
}
