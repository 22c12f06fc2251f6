extension Configuration {
    /// The path at which the store's folder can be opened. A relative ``Store/path`` is appended to
    /// the folder of the configuration file. `nil` if no path is set.
    public var storeFolder: String? {
        guard let path = store.path else { return nil }
        guard !path.hasPrefix("/"), let file, let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }
}
