public import HTTPCache
public import HTTPTypes

/// A complete download, in its place.
public struct DownloadedFile: Sendable, Hashable {
    /// The file's path.
    public var path: String
    /// Bytes in it.
    public var length: Int64
    /// Bytes that an earlier, interrupted download had already written.
    public var resumedFrom: Int64
    /// Status and fields of the last response. A `Content-Encoding` in it was not decoded: the file
    /// holds the content as it came.
    public var head: HTTPResponse
    /// See `CacheResponse.Source`.
    public var source: CacheResponse.Source
}
