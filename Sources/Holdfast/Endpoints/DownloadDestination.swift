/// The file that a download is written to.
public struct DownloadDestination: Sendable, Hashable {
    /// The file's path.
    public var path: String
    /// Whether an existing file is replaced, atomically, when the download is complete. If `false`,
    /// an existing file is an error. `false` by default.
    public var overwrites: Bool
    /// Whether missing folders are created. `true` by default.
    public var createsFolders: Bool

    /// Creates a destination. By default, the file must not exist yet.
    public init(_ path: String, overwrites: Bool = false, createsFolders: Bool = true) {
        self.path = path
        self.overwrites = overwrites
        self.createsFolders = createsFolders
    }
}
