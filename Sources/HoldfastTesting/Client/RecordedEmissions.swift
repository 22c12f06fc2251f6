public import HTTPCache
public import Holdfast

/// What a stream emitted, and how it ended.
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
        /// The recording had as many as it was to have, or its task was cancelled.
        case cancelled
    }

    /// In their order.
    public var emissions: [Emission<Value>]
    /// See ``Ending``.
    public var ending: Ending

    /// What was emitted, in its order.
    public var values: [Value] { emissions.map(\.value) }
    /// Where it came from.
    public var sources: [CacheResponse.Source] { emissions.map(\.source) }
    /// Whether it completed.
    public var isComplete: Bool { if case .completed = ending { true } else { false } }
    /// What it threw, where that was an error of the request layer.
    public var failure: HoldfastError? { if case .failed(let error) = ending { error as? HoldfastError } else { nil } }

    /// A recording.
    public init(emissions: [Emission<Value>], ending: Ending) {
        self.emissions = emissions
        self.ending = ending
    }
}

extension EmissionStream {
    /// Runs the request and keeps what it emits.
    ///
    /// - Parameter limit: after so many emissions it is let go of, and cancelled: for a stream that
    ///   follows the store. It goes to its end unless told otherwise.
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
