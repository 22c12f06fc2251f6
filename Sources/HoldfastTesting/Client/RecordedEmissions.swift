public import HTTPCache
public import Holdfast

/// The emissions of a stream, and the way it ended.
///
/// ```swift
/// let recorded = await client.startWith(FeedEndpoint()).recorded()
/// #expect(recorded.sources == [.store, .network])
/// ```
public struct RecordedEmissions<Value: Sendable>: Sendable {
    /// The way a stream ended.
    public enum Ending: Sendable {
        /// The stream completed.
        case completed
        /// The stream threw this error.
        case failed(any Error)
        /// The recording reached its limit, or its task was canceled.
        case cancelled
    }

    /// The emissions, in order.
    public var emissions: [Emission<Value>]
    /// The way the stream ended.
    public var ending: Ending

    /// The emitted values, in order.
    public var values: [Value] { emissions.map(\.value) }
    /// The source of each emission.
    public var sources: [CacheResponse.Source] { emissions.map(\.source) }
    /// Whether the stream completed.
    public var isComplete: Bool { if case .completed = ending { true } else { false } }
    /// The error that the stream threw, if it is a `HoldfastError`; otherwise `nil`.
    public var failure: HoldfastError? { if case .failed(let error) = ending { error as? HoldfastError } else { nil } }

    /// Creates a recording.
    public init(emissions: [Emission<Value>], ending: Ending) {
        self.emissions = emissions
        self.ending = ending
    }
}

extension EmissionStream {
    /// Runs the request and records its emissions.
    ///
    /// - Parameter limit: the maximum number of emissions, after which the recording cancels the
    ///   stream. Use it for a stream that follows the store. Unlimited by default.
    public func recorded(upTo limit: Int = .max) async -> RecordedEmissions<Value> {
        var recorded = RecordedEmissions<Value>(emissions: [], ending: .cancelled)
        guard limit > 0 else { return recorded }
        do {
            for try await emission in self {
                recorded.emissions.append(emission)
                if recorded.emissions.count == limit { return recorded }
            }
            recorded.ending = .completed
        } catch is CancellationError {
            recorded.ending = .cancelled
        } catch {
            recorded.ending = .failed(error)
        }
        return recorded
    }
}
