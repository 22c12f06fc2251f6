/// Limits on a message's head and framing. A message that exceeds a limit is rejected, not
/// truncated.
///
/// All sizes are in bytes.
public struct MessageLimits: Sendable, Hashable {
    /// The length of the request line or the status line. Default: 8 KiB; RFC 9112 §3 recommends at
    /// least 8,000 bytes
    public var startLine = 8 << 10
    /// The length of all field lines of a head combined. Default: 64 KiB
    public var fieldBlock = 64 << 10
    /// The number of field lines in a head. Default: 128
    public var fieldCount = 128
    /// The length of a chunk's size line, including extensions. Default: 1 KiB
    public var chunkLine = 1 << 10
    /// The length of all chunk extensions of a message combined. They are read and dropped.
    /// Default: 16 KiB
    public var chunkExtensions = 16 << 10
    /// The length of all field lines of a trailer section combined. Default: 8 KiB
    public var trailers = 8 << 10
    /// The number of interim responses before the final response. Default: 16
    public var interimResponses = 16

    /// Creates the default limits.
    public init() {}
}
