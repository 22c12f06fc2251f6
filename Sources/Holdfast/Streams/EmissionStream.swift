/// The emissions of one request: an `AsyncSequence`, or callbacks through ``subscribe(on:onNext:onError:onCompleted:)``.
///
/// Nothing happens before it is iterated or subscribed to, and each iteration is a request of its own. Emissions come in order, one
/// at a time; at most one for the store and one for the network. The stream ends once: by completing, or by throwing ``HoldfastError``.
/// Letting go of the iterator, or cancelling the task that iterates, cancels the request.
public struct EmissionStream<Value: Sendable>: AsyncSequence, Sendable {
    /// A value and where it comes from.
    public typealias Element = Emission<Value>

    typealias Produce = @Sendable (_ emit: @escaping @Sendable (Emission<Value>) async -> Void) async throws -> Void

    private let produce: Produce

    init(_ produce: @escaping Produce) {
        self.produce = produce
    }

    /// Iterates over the emissions of one request.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<Emission<Value>, any Error>.Iterator

        /// The next emission; `nil` after the last.
        public mutating func next() async throws -> Emission<Value>? {
            let next = try await base.next(isolation: #isolation)
            // A cancelled stream of the standard library ends as if it were complete; a caller must be able to tell.
            if next == nil { try Task.checkCancellation() }
            return next
        }
    }

    /// Begins the request.
    public func makeAsyncIterator() -> AsyncIterator {
        let produce = produce
        // Unbounded is bounded here: a request emits twice at most.
        let stream = AsyncThrowingStream<Emission<Value>, any Error> { continuation in
            let task = Task {
                do {
                    try await produce { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
        return AsyncIterator(base: stream.makeAsyncIterator())
    }

    /// Begins the request and calls back.
    ///
    /// The callbacks come one after another, never two at a time: `onNext` for each emission, then exactly one of `onError` and
    /// `onCompleted`; none of them once ``Subscription/cancel()`` was called.
    /// - Parameter executor: where the callbacks run; never on an event loop.
    /// - Returns: the subscription. Letting go of it cancels the request.
    public func subscribe(
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Emission<Value>) -> Void,
        onError: @escaping @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        let produce = produce
        return Subscription { subscription in
            do {
                try await produce { emission in
                    await executor.run { subscription.unlessCancelled { onNext(emission) } }
                }
                await executor.run { subscription.unlessCancelled { onCompleted() } }
            } catch {
                let error = HoldfastError(error, target: "the endpoint")
                await executor.run { subscription.unlessCancelled { onError(error) } }
            }
        }
    }
}
