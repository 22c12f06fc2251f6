/// The content of a response, as passed to observing plugins.
public struct ReceivedContent: Sendable {
    /// How the content ended.
    public enum Ending: Sendable {
        /// All content arrived.
        case complete
        /// The reader stopped, because it did not need the rest or the caller was canceled.
        case abandoned
        /// The content broke off with this error.
        case brokenOff(any Error)
    }

    /// The first bytes as received, up to ``ObservingPlugin/contentLimit``.
    public var beginning: [UInt8]
    /// The number of bytes that arrived.
    public var bytes: Int64
    /// How the content ended.
    public var ending: Ending
    /// The time since the request was sent.
    public var duration: Duration

    /// Whether ``beginning`` is the whole content.
    public var isWhole: Bool {
        if case .complete = ending { Int64(beginning.count) == bytes } else { false }
    }
}
