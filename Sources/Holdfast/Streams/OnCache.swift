/// A request whose stored value goes to a closure of its own. Nothing happens before it is started.
///
/// ```swift
/// let request = client.onCache(endpoint) { stored in show(stored.value) }.request()
/// for try await fresh in request { show(fresh.value) }
/// ```
public struct OnCache<Value: Sendable>: Sendable {
    let onStored: @Sendable (Emission<Value>) -> Void
    let produce:
        @Sendable (
            _ onStored: @Sendable (Emission<Value>) async -> Void,
            _ onNetwork: @Sendable (Emission<Value>) async -> Void
        ) async throws -> Void

    /// The network's value as a stream of one emission. The stored value's closure has returned before it.
    ///
    /// Where the mode keeps the network out and a stored value was there, the stream completes without an emission.
    public func request() -> EmissionStream<Value> {
        EmissionStream { emit in try await produce({ onStored($0) }, emit) }
    }

    /// The network's value to a callback; the stored value's closure runs on the same executor, before it.
    ///
    /// - Returns: the subscription. Letting go of it cancels the request.
    public func request(
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Emission<Value>) -> Void,
        onError: @escaping @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        let (onStored, produce) = (onStored, produce)
        return Subscription { subscription in
            do {
                try await produce(
                    { stored in await executor.run { subscription.unlessCancelled { onStored(stored) } } },
                    { fresh in await executor.run { subscription.unlessCancelled { onNext(fresh) } } }
                )
                await executor.run { subscription.unlessCancelled { onCompleted() } }
            } catch {
                let error = HoldfastError(error, target: "the endpoint")
                await executor.run { subscription.unlessCancelled { onError(error) } }
            }
        }
    }
}
