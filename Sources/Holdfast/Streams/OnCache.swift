import HoldfastContent

/// A request that passes the stored value to a separate closure. It starts on demand.
///
/// ```swift
/// let request = client.onCache(endpoint) { stored in show(stored.value) }.request()
/// for try await fresh in request { show(fresh.value) }
/// ```
public struct OnCache<Value: Sendable>: Sendable {
    let call: Call<Value>
    let onStored: @Sendable (Emission<Value>) -> Void

    /// Returns the request with a client to run on, instead of ``CachingClient/current``.
    public func on(_ client: CachingClient) -> OnCache {
        OnCache(call: call.on(client), onStored: onStored)
    }

    /// Returns the network's value as a stream. The stored value's closure returns before that
    /// emission. If the call follows the store (``CallOptions/followsStore``), more emissions
    /// follow.
    ///
    /// If there was a stored value, and the network is not used (because of the mode or
    /// ``CallOptions/reuseWithin``) or its failure is ignored (``NetworkFailure/endingQuietly``),
    /// the stream completes without an emission.
    public func request() -> EmissionStream<Value> {
        stream(.onCache(self)) { onStored($0) }
    }

    /// Delivers the network's value to a callback. The stored value's closure runs earlier, on the
    /// same executor.
    ///
    /// - Returns: the subscription. Releasing it cancels the request.
    public func request(
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Emission<Value>) -> Void,
        onError: @escaping @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @Sendable () -> Void = {}
    ) -> StreamSubscription {
        request(of: nil, on: executor, onNext, onError, onCompleted)
    }

    /// - Parameter owner: the owner of the callbacks, held weakly.
    func request(
        of owner: (any AnyObject & Sendable)?,
        on executor: CallbackExecutor,
        _ onNext: @escaping @Sendable (Emission<Value>) -> Void,
        _ onError: @escaping @Sendable (HoldfastError) -> Void,
        _ onCompleted: @escaping @Sendable () -> Void
    ) -> StreamSubscription {
        StreamSubscription(of: owner) { subscription in
            let fresh = stream { stored in
                await executor.run { subscription.unlessCancelled { onStored(stored) } }
            }
            await fresh.deliver(to: subscription, on: executor, onNext, onError, onCompleted)
        }
    }

    /// Delivers the network's value to a callback as a `Result`. The stored value's closure runs
    /// earlier, on the same executor.
    ///
    /// - Parameter onCompleted: called last, unless the request ends with a failure. Also called if
    ///   the network is not used, so that there is no result.
    /// - Returns: the subscription. Releasing it cancels the request.
    public func results(
        on executor: CallbackExecutor = .concurrent,
        onCompleted: @escaping @Sendable () -> Void = {},
        _ onResult: @escaping @Sendable (Result<Emission<Value>, HoldfastError>) -> Void
    ) -> StreamSubscription {
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
                    // Only the first value can be the stored value. Later values from the store
                    // replace the network's value.
                    guard run.isAtStoredValue else { return emission }
                    await onStored(emission)
                }
                return nil
            }
        }
    }
}
