public import HTTPCache
public import HTTPTypes

/// A complete download, in its final place.
public struct DownloadedFile: Sendable, Hashable {
    /// The file's path.
    public var path: String
    /// The number of bytes in the file.
    public var length: Int64
    /// The number of bytes that an earlier, interrupted download had already written.
    public var resumedFrom: Int64
    /// The status and fields of the last response. If they include a `Content-Encoding`, it was not
    /// decoded: the file holds the content as received.
    public var head: HTTPResponse
    /// See `CacheResponse.Source`.
    public var source: CacheResponse.Source
}
