import Foundation
import Holdfast
import Hummingbird
import MomentsExample
import NIOCore

/// The service: the whole of it, for the executable and for tests.
///
/// It is a `Service` of swift-service-lifecycle, and shuts down gracefully. The repository's client
/// stays the caller's to close, afterwards.
///
/// - Parameters:
///   - port: 0 takes a free one.
///   - onReady: gets the port, when connections are accepted.
func buildApplication(
    _ repository: MomentsRepository,
    host: String = "127.0.0.1",
    port: Int = 0,
    logger: Logger,
    onReady: @escaping @Sendable (Int) -> Void = { _ in }
) -> some ApplicationProtocol {
    let router = Router()
    router.add(middleware: ProblemMiddleware())
    // It says nothing of the upstream: a service that is restarted because its upstream is away
    // helps nobody.
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
    /// A segment of the path as it was meant, percent-decoded.
    fileprivate func segment(_ name: String) throws -> String {
        let segment = try parameters.require(name)
        return segment.removingPercentEncoding ?? segment
    }
}
