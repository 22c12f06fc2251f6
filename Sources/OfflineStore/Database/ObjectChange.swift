/// A change to the stored objects.
enum ObjectChange: Sendable {
    /// The object of a key was stored, or storing it failed.
    case object(key: [UInt8])
    /// Any object may have changed.
    case any

    /// Returns whether a watcher of a key should read the value again.
    func concerns(_ key: [UInt8]) -> Bool {
        switch self {
        case .object(let changed): changed == key
        case .any: true
        }
    }
}
