/// Limits on a message's head and framing. A message that exceeds a limit is rejected, not
/// truncated.
///
/// All sizes are in bytes.
public struct MessageLimits: Sendable, Hashable {
    /// The request line, or the status line. 8 KiB; RFC 9112 §3 recommends at least 8,000.
    public var startLine = 8 << 10
    /// All field lines of a head combined. 64 KiB
    public var fieldBlock = 64 << 10
    /// Field lines in a head. 128
    public var fieldCount = 128
    /// A chunk's size line, including extensions. 1 KiB
    public var chunkLine = 1 << 10
    /// All chunk extensions of a message combined. They are read and dropped. 16 KiB
    public var chunkExtensions = 16 << 10
    /// All field lines of a trailer section combined. 8 KiB
    public var trailers = 8 << 10
    /// Interim responses before the final one. 16
    public var interimResponses = 16

    /// Creates the default limits.
    public init() {}
}
