#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The address of a Unix socket.
struct UnixAddress: Sendable {
    /// The most bytes in a path: what an address has room for, with its terminator.
    static let maximumPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private let path: [UInt8]

    /// - Returns: `nil` if the path is too long.
    init?(_ path: String) {
        guard path.utf8.count <= Self.maximumPath else { return nil }
        self.path = Array(path.utf8)
    }

    /// Calls a function of the system with the address.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Opens a Unix socket without an address.
    ///
    /// - Returns: its descriptor; less than 0 if it failed, and `errno` says why.
    static func open() -> CInt {
        #if canImport(Glibc)
            let stream = CInt(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        return socket(AF_UNIX, stream, 0)
    }
}
