import HTTPCache
import HoldfastGateway

// On a busy machine a test may stand still for a minute between two of its lines. Timeouts that it
// does not test must not pass meanwhile.

private let patience = Duration.seconds(3600)

/// Tries a claim about time with longer and longer times, until the machine is fast enough to
/// decide it.
///
/// - Parameter attempt: gets the time. It expects the claim, or returns `false` if a delay of the
///   machine could explain the result as well.
func withEnoughTime(from first: Duration, _ attempt: (Duration) async throws -> Bool) async throws {
    var time = first
    while try await !attempt(time) { time *= 2 }
}

/// Waits until another task calls a function, or until this task is canceled, as by the time limit
/// of a suite.
///
/// - Parameter register: gets the function. Only its first call has an effect.
func untilCalled(_ register: (_ call: @escaping @Sendable () -> Void) -> Void) async {
    let (calls, continuation) = AsyncStream<Void>.makeStream()
    register { continuation.finish() }
    for await _ in calls {}
}

extension Duration {
    /// A short limit that the test waits for: nothing must happen before it is over.
    ///
    /// - Parameter milliseconds: no claim depends on how many.
    static func passing(_ milliseconds: Int) -> Duration { .milliseconds(milliseconds) }
}

extension GatewayConfiguration.Timeouts {
    static var patient: Self {
        var timeouts = Self()
        timeouts.request = patience
        timeouts.head = patience
        timeouts.content = patience
        timeouts.slowContent = patience
        timeouts.write = patience
        timeouts.closing = patience
        // A test that leaves an exchange under way waits for this time at its end.
        timeouts.draining = .seconds(60)
        return timeouts
    }
}

extension OriginTransport.Configuration {
    static var patient: Self {
        var configuration = Self()
        configuration.connectTimeout = patience
        configuration.firstByteTimeout = patience
        configuration.sendTimeout = patience
        configuration.readTimeout = patience
        configuration.idleTimeout = patience
        return configuration
    }
}

extension EngineOptions {
    static var patient: Self {
        var options = Self()
        options.hardTimeout = patience
        return options
    }
}
