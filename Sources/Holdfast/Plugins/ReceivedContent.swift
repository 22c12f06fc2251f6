/// The content of a response, as observing plugins see it.
public struct ReceivedContent: Sendable {
    /// How it ended.
    public enum Ending: Sendable {
        /// All of it came.
        case complete
        /// The reader stopped: the rest was not needed, or the caller was cancelled.
        case abandoned
        /// It broke off.
        case brokenOff(any Error)
    }

    /// Its first bytes as they came, as many as ``ObservingPlugin/contentLimit`` requests.
    public var beginning: [UInt8]
    /// The number of bytes that came.
    public var bytes: Int64
    /// See ``Ending``.
    public var ending: Ending
    /// The time since the request was sent.
    public var duration: Duration

    /// Whether ``beginning`` is the whole content.
    public var isWhole: Bool {
        if case .complete = ending { Int64(beginning.count) == bytes } else { false }
    }
}
