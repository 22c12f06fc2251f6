public import HoldfastContent

/// The emissions of one request, as an `AsyncSequence` or as callbacks
/// (``subscribe(on:onNext:onError:onCompleted:)``).
///
/// Both forms have the same implementation and the same guarantees:
///
/// * **Start**: the request starts when the stream is iterated or subscribed to. Each iteration
///   makes a separate request.
/// * **Order**: the stored value comes before the network's value. Emissions arrive one at a time.
/// * **Back pressure**: the next emission is produced on demand, when the loop's body or the
///   callback has returned. Only the network's response is fetched and decoded in advance, while
///   the caller uses the stored value.
/// * **End**: the stream ends exactly once. It either completes or throws `HoldfastError`. No
///   emission follows.
/// * **Cancellation**: the request is canceled when the iterator or the subscription is released,
///   or when the iterating task is canceled. Canceling a subscription takes effect immediately,
///   even while a callback runs. Canceling a task takes effect when its loop's body returns. A
///   canceled iteration throws `CancellationError`; callbacks just end.
///
/// If no other caller shares a canceled request, its connection is closed. If its response is
/// already being stored, the fetch may continue, so that the response is stored for the next
/// caller:
///
/// * It continues for at most one second, or for at most ten seconds if the response's length is
///   known and it will be complete by then.
/// * A response of unknown length ends at 8 MiB.
/// * A stream (`application/x-ndjson`, `application/json-seq`) ends immediately. So does any fetch
///   while another request waits for the origin.
public struct EmissionStream<Value: Sendable>: AsyncSequence, Sendable {
    /// A value with its source.
    public typealias Element = Emission<Value>

    /// One run of the request: returns the emissions one at a time, then `nil`.
    typealias Next = () async throws -> Emission<Value>?

    private let start: @Sendable () -> Next
    /// The stream's request, so that its content can still be decoded as another type.
    enum Request: Sendable {
        case call(Call<Value>)
        case onCache(OnCache<Value>)
    }

    /// The request; `nil` if the values were transformed, or come from another source.
    let request: Request?

    init(_ request: Request? = nil, start: @escaping @Sendable () -> Next) {
        self.request = request
        self.start = start
    }

    /// Creates a stream that returns these emissions in order. For code that replaces a client.
    ///
    /// - Parameter failure: the error that ends the stream. By default, the stream completes.
    public init(_ emissions: [Emission<Value>], failure: HoldfastError? = nil) {
        request = nil
        start = {
            var rest = emissions[...]
            return {
                if let next = rest.popFirst() { return next }
                if let failure { throw failure }
                return nil
            }
        }
    }

    /// Creates a stream of a call's emissions.
    init(running call: Call<Value>) {
        self.init(.call(call)) {
            let run = CallRun(call)
            return { try await run.next() }
        }
    }

    /// Iterates over the emissions of one request.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var produce: Next?

        fileprivate init(_ produce: @escaping Next) {
            self.produce = produce
        }

        /// Returns the next emission; `nil` after the last emission.
        public mutating func next() async throws -> Emission<Value>? {
            guard let produce else { return nil }
            do {
                guard let emission = try await produce() else {
                    self.produce = nil
                    // A canceled iteration must not look like a complete one.
                    try Task.checkCancellation()
                    return nil
                }
                return emission
            } catch {
                self.produce = nil
                throw error
            }
        }
    }

    /// Starts the request.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(start())
    }

    /// Starts the request, and delivers its emissions to callbacks.
    ///
    /// The callbacks run one after another, never concurrently: `onNext` for each emission, then
    /// either `onError` or `onCompleted`, once. No callback begins after
    /// ``StreamSubscription/cancel()``, except one that is just beginning when another thread
    /// cancels.
    ///
    /// The callbacks are held until the request ends. If the object that keeps the subscription is
    /// also used in a callback, call ``subscribe(owner:on:onNext:onError:onCompleted:)`` instead.
    /// Otherwise both stay in memory until the request ends.
    /// - Parameter executor: the executor for the callbacks; never an event loop.
    /// - Returns: the subscription. Releasing it cancels the request.
    public func subscribe(
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Emission<Value>) -> Void,
        onError: @escaping @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @Sendable () -> Void = {}
    ) -> StreamSubscription {
        subscribe(of: nil, on: executor, onNext, onError, onCompleted)
    }

    /// - Parameter owner: the owner of the callbacks, held weakly.
    func subscribe(
        of owner: (any AnyObject & Sendable)?,
        on executor: CallbackExecutor,
        _ onNext: @escaping @Sendable (Emission<Value>) -> Void,
        _ onError: @escaping @Sendable (HoldfastError) -> Void,
        _ onCompleted: @escaping @Sendable () -> Void
    ) -> StreamSubscription {
        StreamSubscription(of: owner) { subscription in
            await deliver(to: subscription, on: executor, onNext, onError, onCompleted)
        }
    }

    /// Delivers the emissions to the callbacks of a subscription, until it is canceled.
    func deliver(
        to subscription: StreamSubscription.Cancellation,
        on executor: CallbackExecutor,
        _ onNext: @escaping @Sendable (Emission<Value>) -> Void,
        _ onError: @escaping @Sendable (HoldfastError) -> Void,
        _ onCompleted: @escaping @Sendable () -> Void
    ) async {
        do {
            for try await emission in self {
                await executor.run { subscription.unlessCancelled { onNext(emission) } }
                if subscription.isCancelled { return }
            }
            await executor.run { subscription.unlessCancelled { onCompleted() } }
        } catch {
            let error = HoldfastError(error, target: "the endpoint")
            await executor.run { subscription.unlessCancelled { onError(error) } }
        }
    }
}
