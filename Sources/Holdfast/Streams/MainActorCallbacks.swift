extension EmissionStream {
    /// Like ``subscribe(on:onNext:onError:onCompleted:)`` on the main actor, with callbacks that
    /// may use its state.
    public func subscribeOnMainActor(
        onNext: @escaping @MainActor @Sendable (Emission<Value>) -> Void,
        onError: @escaping @MainActor @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @MainActor @Sendable () -> Void = {}
    ) -> Subscription {
        // The executor runs them on the main actor, so the assumption holds.
        subscribe(
            on: .main,
            onNext: { emission in MainActor.assumeIsolated { onNext(emission) } },
            onError: { error in MainActor.assumeIsolated { onError(error) } },
            onCompleted: { MainActor.assumeIsolated { onCompleted() } }
        )
    }
}

extension OnCache {
    /// Like ``request(on:onNext:onError:onCompleted:)`` on the main actor, with callbacks that may
    /// use its state.
    ///
    /// The stored value's closure runs there too.
    public func requestOnMainActor(
        onNext: @escaping @MainActor @Sendable (Emission<Value>) -> Void,
        onError: @escaping @MainActor @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @MainActor @Sendable () -> Void = {}
    ) -> Subscription {
        request(
            on: .main,
            onNext: { emission in MainActor.assumeIsolated { onNext(emission) } },
            onError: { error in MainActor.assumeIsolated { onError(error) } },
            onCompleted: { MainActor.assumeIsolated { onCompleted() } }
        )
    }
}
