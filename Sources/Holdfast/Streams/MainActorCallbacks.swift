public import HoldfastContent

extension EmissionStream {
    /// Does the same as ``subscribe(on:onNext:onError:onCompleted:)`` on the main actor, with
    /// callbacks that may use the main actor's state.
    public func subscribeOnMainActor(
        onNext: @escaping @MainActor @Sendable (Emission<Value>) -> Void,
        onError: @escaping @MainActor @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @MainActor @Sendable () -> Void = {}
    ) -> StreamSubscription {
        // The executor runs the callbacks on the main actor, so the assumption holds.
        subscribe(
            on: .main,
            onNext: { emission in MainActor.assumeIsolated { onNext(emission) } },
            onError: { error in MainActor.assumeIsolated { onError(error) } },
            onCompleted: { MainActor.assumeIsolated { onCompleted() } }
        )
    }
}

extension OnCache {
    /// Does the same as ``request(on:onNext:onError:onCompleted:)`` on the main actor, with
    /// callbacks that may use the main actor's state.
    ///
    /// The stored value's closure also runs on the main actor.
    public func requestOnMainActor(
        onNext: @escaping @MainActor @Sendable (Emission<Value>) -> Void,
        onError: @escaping @MainActor @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @MainActor @Sendable () -> Void = {}
    ) -> StreamSubscription {
        request(
            on: .main,
            onNext: { emission in MainActor.assumeIsolated { onNext(emission) } },
            onError: { error in MainActor.assumeIsolated { onError(error) } },
            onCompleted: { MainActor.assumeIsolated { onCompleted() } }
        )
    }
}
