extension Configuration {
    /// The store's folder as it can be opened: ``Store/path``, behind the folder of the file where
    /// it is relative to that. `nil` where none is named.
    public var storeFolder: String? {
        guard let path = store.path else { return nil }
        guard !path.hasPrefix("/"), let file, let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }
}
