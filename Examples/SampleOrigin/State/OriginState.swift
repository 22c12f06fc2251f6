import Foundation
import Hummingbird
import Synchronization

/// The state of an origin that survives its server: a restart on the same port keeps counts and
/// likes.
final class OriginState: Sendable {
    let configuration: OriginConfiguration
    let ledger = RequestLedger()
    let script = BehaviorScript()
    let connections = ConnectionRegistry()
    let feed = MomentsFeed()
    let flaky = FlakyCounter()
    let attempts = AttemptCounter()
    let gates = GateBook()
    let tokens = AccessTokens()
    let persistedQueries = PersistedQueries()

    init(configuration: OriginConfiguration) {
        self.configuration = configuration
    }

    /// The `Cache-Control` of responses without their own lifetime.
    var defaultCacheControl: String { "max-age=\(configuration.maxAge)" }

    /// The origin's clock, in seconds since 1970.
    var now: Int64 { configuration.date?() ?? Int64(Date().timeIntervalSince1970) }
}
