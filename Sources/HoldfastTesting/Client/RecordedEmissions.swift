public import HTTPCache
public import Holdfast

/// The emissions of a stream, and how it ended.
///
/// ```swift
/// let recorded = await client.startWith(FeedEndpoint()).recorded()
/// #expect(recorded.sources == [.store, .network])
/// ```
public struct RecordedEmissions<Value: Sendable>: Sendable {
    /// How a stream ended.
    public enum Ending: Sendable {
        /// It completed.
        case completed
        /// It threw this.
        case failed(any Error)
        /// The recording reached its limit, or its task was cancelled.
        case cancelled
    }

    /// In their order.
    public var emissions: [Emission<Value>]
    /// See ``Ending``.
    public var ending: Ending

    /// The emitted values, in order.
    public var values: [Value] { emissions.map(\.value) }
    /// The source of each emission.
    public var sources: [CacheResponse.Source] { emissions.map(\.source) }
    /// Whether it completed.
    public var isComplete: Bool { if case .completed = ending { true } else { false } }
    /// The error that the stream threw, if it is one of the request layer.
    public var failure: HoldfastError? { if case .failed(let error) = ending { error as? HoldfastError } else { nil } }

    /// A recording.
    public init(emissions: [Emission<Value>], ending: Ending) {
        self.emissions = emissions
        self.ending = ending
    }
}

extension EmissionStream {
    /// Runs the request and records its emissions.
    ///
    /// - Parameter limit: the recording cancels the stream after this number of emissions: for a
    ///   stream that follows the store. Unlimited by default.
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
