import Hummingbird
import NIOCore

/// A handler's context: the connection, for handlers that close it, and the recorded request.
struct OriginContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The request as received. ``LedgerMiddleware`` sets it before any handler runs.
    var recorded: RecordedRequest?

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }
}
