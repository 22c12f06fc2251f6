public import HoldfastContent

/// Callbacks that belong to an object, such as a screen, without keeping the object in memory.
///
/// Without an owner, an object that keeps its subscription and is used in its own callback would
/// stay in memory until the request ends: the object holds the subscription, which holds the
/// callback, which holds the object.
extension EmissionStream {
    /// Starts the request, and delivers its emissions to the callbacks of an owner that is held
    /// weakly.
    ///
    /// ```swift
    /// final class Screen: Sendable {
    ///     private let subscriptions = SubscriptionBag()
    ///
    ///     func open(_ client: CachingClient) {
    ///         client.startWith(GetFeed()).subscribe(owner: self) { screen, emission in
    ///             screen.show(emission.value)
    ///         }.store(in: subscriptions)
    ///     }
    /// }
    /// ```
    ///
    /// Keep the subscription in the owner, so that the request is canceled as soon as the owner is
    /// released. If the subscription is kept elsewhere, it ends when its next callback is due and
    /// the owner has been released. No callback runs without its owner. Everything else is the same
    /// as for ``subscribe(on:onNext:onError:onCompleted:)``.
    ///
    /// - Parameters:
    ///   - owner: the object that is passed to each callback. It is held while a callback runs.
    ///   - executor: the executor for the callbacks; never an event loop.
    /// - Returns: the subscription. Releasing it cancels the request.
    public func subscribe<Owner: AnyObject & Sendable>(
        owner: Owner,
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Owner, Emission<Value>) -> Void,
        onError: @escaping @Sendable (Owner, HoldfastError) -> Void = { _, _ in },
        onCompleted: @escaping @Sendable (Owner) -> Void = { _ in }
    ) -> StreamSubscription {
        subscribe(
            of: owner,
            on: executor,
            weakly(owner, onNext),
            weakly(owner, onError),
            { [weak owner] in if let owner { onCompleted(owner) } }
        )
    }

    /// Does the same as ``subscribe(owner:on:onNext:onError:onCompleted:)``, with asynchronous
    /// callbacks. Each callback is awaited before the next begins.
    ///
    /// - Returns: the subscription. Releasing it cancels the request.
    public func subscribe<Owner: AnyObject & Sendable>(
        owner: Owner,
        onNext: @escaping @Sendable (Owner, Emission<Value>) async -> Void,
        onError: @escaping @Sendable (Owner, HoldfastError) async -> Void = { _, _ in },
        onCompleted: @escaping @Sendable (Owner) async -> Void = { _ in }
    ) -> StreamSubscription {
        subscribe(
            of: owner,
            { [weak owner] emission in if let owner { await onNext(owner, emission) } },
            { [weak owner] error in if let owner { await onError(owner, error) } },
            { [weak owner] in if let owner { await onCompleted(owner) } }
        )
    }

    /// Does the same as ``subscribe(owner:on:onNext:onError:onCompleted:)`` on the main actor, with
    /// callbacks that may use the main actor's state.
    ///
    /// - Returns: the subscription. Releasing it cancels the request.
    public func subscribeOnMainActor<Owner: AnyObject & Sendable>(
        owner: Owner,
        onNext: @escaping @MainActor @Sendable (Owner, Emission<Value>) -> Void,
        onError: @escaping @MainActor @Sendable (Owner, HoldfastError) -> Void = { _, _ in },
        onCompleted: @escaping @MainActor @Sendable (Owner) -> Void = { _ in }
    ) -> StreamSubscription {
        // The executor runs the callbacks on the main actor, so the assumption holds.
        subscribe(
            owner: owner,
            on: .main,
            onNext: { owner, emission in MainActor.assumeIsolated { onNext(owner, emission) } },
            onError: { owner, error in MainActor.assumeIsolated { onError(owner, error) } },
            onCompleted: { owner in MainActor.assumeIsolated { onCompleted(owner) } }
        )
    }
}

extension OnCache {
    /// Delivers the network's value to the callbacks of an owner that is held weakly. See
    /// ``EmissionStream/subscribe(owner:on:onNext:onError:onCompleted:)``.
    ///
    /// ```swift
    /// client.onCache(GetFeed(), owner: self) { screen, stored in
    ///     screen.show(stored.value)
    /// }.request(owner: self) { screen, fresh in
    ///     screen.show(fresh.value)
    /// }.store(in: subscriptions)
    /// ```
    ///
    /// - Returns: the subscription. Releasing it cancels the request.
    public func request<Owner: AnyObject & Sendable>(
        owner: Owner,
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Owner, Emission<Value>) -> Void,
        onError: @escaping @Sendable (Owner, HoldfastError) -> Void = { _, _ in },
        onCompleted: @escaping @Sendable (Owner) -> Void = { _ in }
    ) -> StreamSubscription {
        request(
            of: owner,
            on: executor,
            weakly(owner, onNext),
            weakly(owner, onError),
            { [weak owner] in if let owner { onCompleted(owner) } }
        )
    }

    /// Does the same as ``request(owner:on:onNext:onError:onCompleted:)`` on the main actor, with
    /// callbacks that may use the main actor's state. The stored value's closure also runs on the
    /// main actor.
    ///
    /// - Returns: the subscription. Releasing it cancels the request.
    public func requestOnMainActor<Owner: AnyObject & Sendable>(
        owner: Owner,
        onNext: @escaping @MainActor @Sendable (Owner, Emission<Value>) -> Void,
        onError: @escaping @MainActor @Sendable (Owner, HoldfastError) -> Void = { _, _ in },
        onCompleted: @escaping @MainActor @Sendable (Owner) -> Void = { _ in }
    ) -> StreamSubscription {
        request(
            owner: owner,
            on: .main,
            onNext: { owner, emission in MainActor.assumeIsolated { onNext(owner, emission) } },
            onError: { owner, error in MainActor.assumeIsolated { onError(owner, error) } },
            onCompleted: { owner in MainActor.assumeIsolated { onCompleted(owner) } }
        )
    }
}

extension Call {
    /// Does the same as ``results(on:onCompleted:_:)``, with the callbacks of an owner that is held
    /// weakly. See ``EmissionStream/subscribe(owner:on:onNext:onError:onCompleted:)``.
    ///
    /// - Returns: the subscription. Releasing it cancels the request.
    public func results<Owner: AnyObject & Sendable>(
        owner: Owner,
        on executor: CallbackExecutor = .concurrent,
        onCompleted: @escaping @Sendable (Owner) -> Void = { _ in },
        _ onResult: @escaping @Sendable (Owner, Result<Emission<Value>, HoldfastError>) -> Void
    ) -> StreamSubscription {
        request().subscribe(
            owner: owner,
            on: executor,
            onNext: { onResult($0, .success($1)) },
            onError: { onResult($0, .failure($1)) },
            onCompleted: onCompleted
        )
    }

    /// Passes the stored value to a closure of an owner that is held weakly, and the network's
    /// value to the request's own closure; see
    /// ``OnCache/request(owner:on:onNext:onError:onCompleted:)``.
    ///
    /// - Parameter onStored: called at most once, before the network's value, and only while the
    ///   owner exists.
    public func onCache<Owner: AnyObject & Sendable>(
        owner: Owner,
        _ onStored: @escaping @Sendable (Owner, Emission<Value>) -> Void
    ) -> OnCache<Value> {
        onCache(weakly(owner, onStored))
    }
}

extension CachingClient {
    /// Passes the stored value to a closure of an owner that is held weakly, and the network's
    /// value to the request's own closure; see
    /// ``OnCache/request(owner:on:onNext:onError:onCompleted:)``.
    ///
    /// - Parameter onStored: called at most once, before the network's value, and only while the
    ///   owner exists.
    public func onCache<E: Endpoint, Owner: AnyObject & Sendable>(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing,
        owner: Owner,
        _ onStored: @escaping @Sendable (Owner, Emission<E.Response>) -> Void
    ) -> OnCache<E.Response> {
        onCache(endpoint, ifNetworkFails: failure, weakly(owner, onStored))
    }
}

extension ScopedClient {
    /// Passes the stored value to a closure of an owner that is held weakly; see
    /// ``CachingClient/onCache(_:ifNetworkFails:owner:_:)``.
    public func onCache<Owner: AnyObject & Sendable>(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing,
        owner: Owner,
        _ onStored: @escaping @Sendable (Owner, Emission<Value>) -> Void
    ) -> OnCache<Value> {
        onCache(endpoint, ifNetworkFails: failure, weakly(owner, onStored))
    }
}

/// Returns a callback that passes its owner along, and does nothing after the owner is released.
private func weakly<Owner: AnyObject & Sendable, Value: Sendable>(
    _ owner: Owner,
    _ callback: @escaping @Sendable (Owner, Value) -> Void
) -> @Sendable (Value) -> Void {
    { [weak owner] value in if let owner { callback(owner, value) } }
}
