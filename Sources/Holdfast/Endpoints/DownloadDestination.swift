/// Where a download goes.
public struct DownloadDestination: Sendable, Hashable {
    /// The file's path.
    public var path: String
    /// Whether a file that is there already is replaced, in one step, when the download is whole.
    /// Otherwise it is an error. `false`.
    public var overwrites: Bool
    /// Whether folders on the way that are missing are made. `true`.
    public var createsFolders: Bool

    /// A file that is not there yet, unless told otherwise.
    public init(_ path: String, overwrites: Bool = false, createsFolders: Bool = true) {
        self.path = path
        self.overwrites = overwrites
        self.createsFolders = createsFolders
    }
}
