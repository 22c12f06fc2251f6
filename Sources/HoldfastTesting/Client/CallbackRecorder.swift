public import Holdfast
import Synchronization

/// Records the callbacks of a request, in the order in which they are called.
///
/// ```swift
/// let recorder = CallbackRecorder<Feed>()
/// await recorder.subscribe(to: client.startWith(FeedEndpoint())).finished()
/// #expect(recorder.order == ["next store", "next network", "completed"])
/// ```
public final class CallbackRecorder<Value: Sendable>: Sendable {
    /// One call.
    public enum Event: Sendable {
        /// The stored value's own closure.
        case stored(Emission<Value>)
        /// `onNext`
        case next(Emission<Value>)
        /// `onError`
        case error(HoldfastError)
        /// `onCompleted`
        case completed
    }

    private let state = Mutex<[Event]>([])

    /// A recorder without events.
    public init() {}

    /// The recorded calls, in order.
    public var events: [Event] { state.withLock { $0 } }

    /// ``events`` in words: `stored`, `next store`, `next network`, `error` with its code,
    /// `completed`.
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

    /// For the closure of a stored value.
    public func stored(_ emission: Emission<Value>) { append(.stored(emission)) }
    /// For `onNext`.
    public func next(_ emission: Emission<Value>) { append(.next(emission)) }
    /// For `onError`.
    public func error(_ error: HoldfastError) { append(.error(error)) }
    /// For `onCompleted`.
    public func completed() { append(.completed) }

    /// Begins a request and records all its callbacks.
    ///
    /// - Returns: the subscription; releasing it cancels the request. Once
    ///   `Subscription.finished()` returns, everything is recorded.
    public func subscribe(
        to stream: EmissionStream<Value>,
        on executor: CallbackExecutor = .concurrent
    ) -> Subscription {
        stream.subscribe(
            on: executor,
            onNext: { self.next($0) },
            onError: { self.error($0) },
            onCompleted: { self.completed() }
        )
    }

    private func append(_ event: Event) { state.withLock { $0.append(event) } }
}
