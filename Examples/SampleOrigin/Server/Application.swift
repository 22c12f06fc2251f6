import Hummingbird
import Logging
import NIOCore

func makeApplication(
    state: OriginState,
    port: Int,
    onServerRunning: @escaping @Sendable (any Channel) async -> Void
) -> Application<RouterResponder<OriginContext>> {
    Application(
        router: makeRouter(state: state),
        server: .http1(configuration: .init(additionalChannelHandlers: [ConnectionHandler(state: state)])),
        configuration: ApplicationConfiguration(
            address: .hostname(state.configuration.host, port: port),
            serverName: "sample-origin"
        ),
        onServerRunning: onServerRunning,
        // The framework would log every client that disconnects. Relevant errors are thrown, or
        // logged per request below.
        logger: Logger(label: "sample-origin", factory: { _ in SwiftLogNoOpLogHandler() })
    )
}

private func makeRouter(state: OriginState) -> Router<OriginContext> {
    let router = Router(context: OriginContext.self, options: [.autoGenerateHeadEndpoints])
    // Added before the middleware, so that reading the counts does not change them and cannot be
    // forced to fail.
    addControlRoutes(to: router, state: state)

    router.add(middleware: LedgerMiddleware(state: state))
    router.add(middleware: BehaviorMiddleware(script: state.script))
    router.add(middleware: ConditionalMiddleware())

    addMomentsRoutes(to: router, state: state)
    addGraphQLRoutes(to: router, state: state)
    addFreshnessRoutes(to: router, state: state)
    addContentRoutes(to: router, state: state)
    addBytesRoutes(to: router, state: state)
    addCompressedRoutes(to: router, state: state)
    addUploadRoutes(to: router)
    addEnvelopeRoutes(to: router, state: state)
    addAuthRoutes(to: router, state: state)
    addSlowRoutes(to: router, state: state)
    addFaultRoutes(to: router, state: state)
    addEchoRoutes(to: router)
    addRespondRoutes(to: router)
    addStatusRoutes(to: router)
    return router
}
