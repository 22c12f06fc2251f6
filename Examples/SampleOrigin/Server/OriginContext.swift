import Hummingbird
import NIOCore

/// A handler's context beside the request: the connection, for handlers that close it, and the
/// record.
struct OriginContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The request as received; the ledger's middleware sets it before any handler runs.
    var recorded: RecordedRequest?

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }
}
