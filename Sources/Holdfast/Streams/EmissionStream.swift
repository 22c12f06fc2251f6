/// The emissions of one request: an `AsyncSequence`, or callbacks by
/// ``subscribe(on:onNext:onError:onCompleted:)``.
///
/// Both forms have one implementation and the same guarantees:
///
/// * **Start**: the request starts when the stream is iterated or subscribed to. Each iteration is
///   a request of its own.
/// * **Order**: the stored value comes before the network's. Emissions come one at a time.
/// * **Back-pressure**: the next emission is made on demand, when the loop's body or the callback
///   has returned. Only the network's response is fetched and decoded ahead, while the caller uses
///   the stored value.
/// * **End**: exactly one. The stream completes, or throws ``HoldfastError``. No emission follows.
/// * **Cancellation**: the request is cancelled when the iterator or the subscription is released,
///   or the iterating task is cancelled. If no other caller shares the request, its connection is
///   closed. If its response is already being stored, the fetch continues for at most a second. A
///   response that is complete by then is stored for the next caller. Any other is closed. A
///   response of known length that will be complete within ten seconds gets that time. One of
///   unknown length ends at 8 MiB. A stream (`application/x-ndjson`, `application/json-seq`) ends
///   at once, and so does any fetch while another request waits for the origin. Cancelling a
///   subscription takes effect at once, even while a callback runs. Cancelling a task takes effect
///   when its loop's body returns. A cancelled iteration throws `CancellationError`; callbacks just
///   end.
public struct EmissionStream<Value: Sendable>: AsyncSequence, Sendable {
    /// A value with its source.
    public typealias Element = Emission<Value>

    /// One run of the request: returns one emission after the other, then `nil`.
    typealias Next = () async throws -> Emission<Value>?

    private let start: @Sendable () -> Next
    /// The request of the stream, so that another type can still be named for its content.
    enum Request: Sendable {
        case call(Call<Value>)
        case onCache(OnCache<Value>)
    }

    /// `nil` if the values were transformed, or come from elsewhere.
    let request: Request?

    init(_ request: Request? = nil, start: @escaping @Sendable () -> Next) {
        self.request = request
        self.start = start
    }

    /// Creates a stream of given emissions, in this order, for code that replaces a client.
    ///
    /// - Parameter failure: the error that ends it. By default the stream completes.
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

    /// Creates the stream of a call's emissions.
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

        /// Returns the next emission; `nil` after the last.
        public mutating func next() async throws -> Emission<Value>? {
            guard let produce else { return nil }
            do {
                guard let emission = try await produce() else {
                    self.produce = nil
                    // A cancelled iteration must not look like a complete one.
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
    /// The callbacks run one after another, never two at a time: `onNext` for each emission, then
    /// exactly one of `onError` and `onCompleted`. None begins after ``Subscription/cancel()`` was
    /// called.
    ///
    /// The callbacks are held until the request ends. If the object that keeps the subscription
    /// also uses itself in a callback, use ``subscribe(owner:on:onNext:onError:onCompleted:)``:
    /// otherwise both stay in memory until then.
    /// - Parameter executor: the place where the callbacks run; never an event loop.
    /// - Returns: the subscription. Releasing it cancels the request.
    public func subscribe(
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Emission<Value>) -> Void,
        onError: @escaping @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        subscribe(of: nil, on: executor, onNext, onError, onCompleted)
    }

    /// - Parameter owner: the object that the callbacks belong to; held weakly.
    func subscribe(
        of owner: (any AnyObject & Sendable)?,
        on executor: CallbackExecutor,
        _ onNext: @escaping @Sendable (Emission<Value>) -> Void,
        _ onError: @escaping @Sendable (HoldfastError) -> Void,
        _ onCompleted: @escaping @Sendable () -> Void
    ) -> Subscription {
        Subscription(of: owner) { subscription in
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
}
