import HummingbirdCore
import Logging
import NIOCore

/// A connection with TLS. The program supplies the TLS handler, which knows the certificates in
/// use.
struct SecureChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let makeHandler: MetricsAddress.TLSHandler

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(makeHandler())
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
