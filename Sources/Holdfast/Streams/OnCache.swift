/// A request whose stored value goes to a closure of its own. Nothing happens before it is started.
///
/// ```swift
/// let request = client.onCache(endpoint) { stored in show(stored.value) }.request()
/// for try await fresh in request { show(fresh.value) }
/// ```
public struct OnCache<Value: Sendable>: Sendable {
    let call: Call<Value>
    let onStored: @Sendable (Emission<Value>) -> Void

    /// With a client to run on, instead of ``CachingClient/current``.
    public func on(_ client: CachingClient) -> OnCache {
        OnCache(call: call.on(client), onStored: onStored)
    }

    /// The network's value as a stream of one emission. The stored value's closure has returned
    /// before it.
    ///
    /// Where the mode keeps the network out and a stored value was there, the stream completes
    /// without an emission.
    public func request() -> EmissionStream<Value> {
        stream(.onCache(self)) { onStored($0) }
    }

    /// The network's value to a callback; the stored value's closure runs on the same executor,
    /// before it.
    ///
    /// - Returns: the subscription. Letting go of it cancels the request.
    public func request(
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Emission<Value>) -> Void,
        onError: @escaping @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        Subscription { subscription in
            do {
                let fresh = stream { stored in
                    await executor.run { subscription.unlessCancelled { onStored(stored) } }
                }
                for try await emission in fresh {
                    await executor.run { subscription.unlessCancelled { onNext(emission) } }
                }
                await executor.run { subscription.unlessCancelled { onCompleted() } }
            } catch {
                let error = HoldfastError(error, target: "the endpoint")
                await executor.run { subscription.unlessCancelled { onError(error) } }
            }
        }
    }

    /// The network's value to a callback as a `Result`; the stored value's closure runs on the same
    /// executor, before it.
    ///
    /// - Parameter onCompleted: called last, where no failure is the end; also where the mode kept
    ///   the network out, and no result came.
    /// - Returns: the subscription. Letting go of it cancels the request.
    public func results(
        on executor: CallbackExecutor = .concurrent,
        onCompleted: @escaping @Sendable () -> Void = {},
        _ onResult: @escaping @Sendable (Result<Emission<Value>, HoldfastError>) -> Void
    ) -> Subscription {
        request(
            on: executor,
            onNext: { onResult(.success($0)) },
            onError: { onResult(.failure($0)) },
            onCompleted: onCompleted
        )
    }

    private func stream(
        _ request: EmissionStream<Value>.Request? = nil,
        storedTo onStored: @escaping @Sendable (Emission<Value>) async -> Void
    ) -> EmissionStream<Value> {
        let call = call
        return EmissionStream(request) {
            let run = CallRun(call)
            return {
                while let emission = try await run.next() {
                    // Only the first value can be the stored one; what comes from the store later
                    // stands in for the network's.
                    guard run.isAtStoredValue else { return emission }
                    await onStored(emission)
                }
                return nil
            }
        }
    }
}
