public import HoldfastContent

extension EmissionStream {
    /// Starts the request, and delivers its emissions to asynchronous callbacks.
    ///
    /// ```swift
    /// let subscription = client.startWith(endpoint).subscribe(
    ///     onNext: { emission in await counter.add(emission.value) },
    ///     onError: { error in await counter.note(error) }
    /// )
    /// ```
    ///
    /// Each callback is awaited before the next begins, so an actor sees the emissions in order.
    /// ``StreamSubscription/cancel()`` also cancels the task in which a callback waits. Callbacks
    /// cannot throw, unlike the body of a `for try await` loop. If an object's callbacks use the
    /// object, pass it as their owner: ``subscribe(owner:onNext:onError:onCompleted:)``. Everything
    /// else is the same as for ``subscribe(on:onNext:onError:onCompleted:)``.
    ///
    /// - Returns: the subscription. Releasing it cancels the request.
    public func subscribe(
        onNext: @escaping @Sendable (Emission<Value>) async -> Void,
        onError: @escaping @Sendable (HoldfastError) async -> Void = { _ in },
        onCompleted: @escaping @Sendable () async -> Void = {}
    ) -> StreamSubscription {
        subscribe(of: nil, onNext, onError, onCompleted)
    }

    /// - Parameter owner: the owner of the callbacks, held weakly.
    func subscribe(
        of owner: (any AnyObject & Sendable)?,
        _ onNext: @escaping @Sendable (Emission<Value>) async -> Void,
        _ onError: @escaping @Sendable (HoldfastError) async -> Void,
        _ onCompleted: @escaping @Sendable () async -> Void
    ) -> StreamSubscription {
        StreamSubscription(of: owner) { subscription in
            do {
                for try await emission in self {
                    await subscription.unlessCancelled(waiting: { await onNext(emission) })
                    if subscription.isCancelled { return }
                }
                await subscription.unlessCancelled(waiting: { await onCompleted() })
            } catch {
                let error = HoldfastError(error, target: "the endpoint")
                await subscription.unlessCancelled(waiting: { await onError(error) })
            }
        }
    }
}
