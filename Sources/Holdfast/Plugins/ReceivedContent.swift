/// The content of an answer as those who look on are told of it.
public struct ReceivedContent: Sendable {
    /// How it ended.
    public enum Ending: Sendable {
        /// All of it came.
        case complete
        /// Whoever read it stopped: there was nothing more to be known of it, or the caller went
        /// away.
        case givenUp
        /// It broke off.
        case brokenOff(any Error)
    }

    /// Its first bytes, as many as ``ObservingPlugin/contentLimit`` says, as they came.
    public var beginning: [UInt8]
    /// Bytes that came.
    public var bytes: Int64
    /// See ``Ending``.
    public var ending: Ending
    /// From the sending of the request on.
    public var duration: Duration

    /// Whether ``beginning`` is all of it.
    public var isWhole: Bool {
        if case .complete = ending { Int64(beginning.count) == bytes } else { false }
    }
}
