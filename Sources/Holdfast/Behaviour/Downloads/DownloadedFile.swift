public import HTTPCache
public import HTTPTypes

/// A download that is whole, and in its place.
public struct DownloadedFile: Sendable, Hashable {
    /// The file's path.
    public var path: String
    /// Bytes in it.
    public var length: Int64
    /// Bytes of it that an earlier download, which broke off, had brought already.
    public var resumedFrom: Int64
    /// Status and fields of the last response. A `Content-Encoding` in it was not undone: the file
    /// holds what came.
    public var head: HTTPResponse
    /// See `CacheResponse.Source`.
    public var source: CacheResponse.Source
}
