public import Holdfast
import Synchronization

/// Records the callbacks of a request, in order.
///
/// ```swift
/// let recorder = CallbackRecorder<Feed>()
/// await recorder.subscribe(to: client.startWith(FeedEndpoint())).finished()
/// #expect(recorder.order == ["next store", "next network", "completed"])
/// ```
public final class CallbackRecorder<Value: Sendable>: Sendable {
    /// A callback.
    public enum Event: Sendable {
        /// The request called the closure for the stored value.
        case stored(Emission<Value>)
        /// The request called `onNext`.
        case next(Emission<Value>)
        /// The request called `onError`.
        case error(HoldfastError)
        /// The request called `onCompleted`.
        case completed
    }

    private let state = Mutex<[Event]>([])

    /// Creates a recorder without events.
    public init() {}

    /// The recorded calls, in order.
    public var events: [Event] { state.withLock { $0 } }

    /// The ``events`` as text: `stored`, `next store`, `next network` (also for a substitute),
    /// `error` with its code, `completed`.
    public var order: [String] {
        events.map { event in
            switch event {
            case .stored: "stored"
            case .next(let emission): emission.source == .store ? "next store" : "next network"
            case .error(let error): "error \(error.code)"
            case .completed: "completed"
            }
        }
    }

    /// The values of ``events``, in order.
    public var values: [Value] {
        events.compactMap { event in
            switch event {
            case .stored(let emission), .next(let emission): emission.value
            case .error, .completed: nil
            }
        }
    }

    /// Records a stored value. Pass it as the closure for the stored value.
    public func stored(_ emission: Emission<Value>) { append(.stored(emission)) }
    /// Records a value. Pass it as `onNext`.
    public func next(_ emission: Emission<Value>) { append(.next(emission)) }
    /// Records an error. Pass it as `onError`.
    public func error(_ error: HoldfastError) { append(.error(error)) }
    /// Records the completion. Pass it as `onCompleted`.
    public func completed() { append(.completed) }

    /// Starts a request and records all of its callbacks.
    ///
    /// - Returns: the subscription; releasing it cancels the request. Once
    ///   `StreamSubscription.finished()` returns, all callbacks are recorded.
    public func subscribe(
        to stream: EmissionStream<Value>,
        on executor: CallbackExecutor = .concurrent
    ) -> StreamSubscription {
        stream.subscribe(
            on: executor,
            onNext: { self.next($0) },
            onError: { self.error($0) },
            onCompleted: { self.completed() }
        )
    }

    private func append(_ event: Event) { state.withLock { $0.append(event) } }
}
