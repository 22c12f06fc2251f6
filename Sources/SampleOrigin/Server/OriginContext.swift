import Hummingbird
import NIOCore

/// What a handler knows beside the request: the connection, for those that answer by closing it,
/// and the record.
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
