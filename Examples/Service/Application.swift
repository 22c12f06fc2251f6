import Foundation
import Holdfast
import Hummingbird
import MomentsExample
import NIOCore

/// The whole service, for the executable and for tests.
///
/// It is a `Service` of swift-service-lifecycle, and shuts down gracefully. The caller closes the
/// repository's client afterwards.
///
/// - Parameters:
///   - port: 0 takes a free one.
///   - onReady: is called with the port once connections are accepted.
func buildApplication(
    _ repository: MomentsRepository,
    host: String = "127.0.0.1",
    port: Int = 0,
    logger: Logger,
    onReady: @escaping @Sendable (Int) -> Void = { _ in }
) -> some ApplicationProtocol {
    let router = Router()
    router.add(middleware: ProblemMiddleware())
    // It ignores the upstream: restarting this service would not help while the upstream is
    // unreachable.
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
    /// A segment of the path, percent-decoded.
    fileprivate func segment(_ name: String) throws -> String {
        let segment = try parameters.require(name)
        return segment.removingPercentEncoding ?? segment
    }
}
