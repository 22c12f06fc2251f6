/// The emissions of one request: an `AsyncSequence`, or callbacks through
/// ``subscribe(on:onNext:onError:onCompleted:)``.
///
/// Both forms have one core and the same guarantees:
///
/// * **Start**: nothing happens before it is iterated or subscribed to, and each iteration is a
///   request of its own.
/// * **Order**: what is stored comes before what the network answers; emissions come one at a time.
/// * **Back-pressure**: the next emission is made when it is asked for, that is, when the loop's
///   body, or the callback, has returned. Only the network's answer is fetched, and made a value,
///   ahead: it is under way while the stored value is looked at.
/// * **End**: exactly one: it completes, or it throws ``HoldfastError``. Nothing comes after it.
/// * **Cancellation**: letting go of the iterator or the subscription, or cancelling the task that
///   iterates, cancels the request; one that no other caller shares is closed on the wire. Where
///   its response is being stored already, it goes on for a second at most: what is complete by
///   then is stored for the next caller, the rest is closed. A response of known length that will
///   be complete within ten seconds has those; one of unknown length ends at 8 MiB; a stream
///   (`application/x-ndjson`, `application/json-seq`) ends at once, and so does everything while
///   another request waits for the origin. A subscription that is cancelled does so at once, also
///   while a callback runs; a task that is cancelled while its loop's body runs does so when that
///   returns. An iteration that was cancelled throws `CancellationError`; callbacks just end.
public struct EmissionStream<Value: Sendable>: AsyncSequence, Sendable {
    /// A value and where it comes from.
    public typealias Element = Emission<Value>

    /// One run of the request: answers with one emission after the other, then `nil`.
    typealias Next = () async throws -> Emission<Value>?

    private let start: @Sendable () -> Next
    /// The request that emits, so that another type can still be named for its content.
    enum Request: Sendable {
        case call(Call<Value>)
        case onCache(OnCache<Value>)
    }

    /// `nil` where the values were transformed, or come from elsewhere.
    let request: Request?

    init(_ request: Request? = nil, start: @escaping @Sendable () -> Next) {
        self.request = request
        self.start = start
    }

    /// A stream of emissions that are there already, for code that stands in for a client: they
    /// come in this order, and then the end.
    ///
    /// - Parameter failure: how it ends; completed unless told otherwise.
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

    /// What a call emits.
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

        /// The next emission; `nil` after the last.
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

    /// Begins the request.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(start())
    }

    /// Begins the request and calls back.
    ///
    /// The callbacks come one after another, never two at a time: `onNext` for each emission, then
    /// exactly one of `onError` and `onCompleted`; none of them once ``Subscription/cancel()`` was
    /// called.
    /// - Parameter executor: where the callbacks run; never on an event loop.
    /// - Returns: the subscription. Letting go of it cancels the request.
    public func subscribe(
        on executor: CallbackExecutor = .concurrent,
        onNext: @escaping @Sendable (Emission<Value>) -> Void,
        onError: @escaping @Sendable (HoldfastError) -> Void = { _ in },
        onCompleted: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        Subscription { subscription in
            do {
                for try await emission in self {
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
