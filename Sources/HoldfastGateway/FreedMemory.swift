package import HTTPCache
import NIOPosix
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#endif

/// Decides when to return freed memory to the operating system. docs/decisions/0050
///
/// The allocator keeps freed memory for later use. After thousands of stalled clients have
/// disconnected, other programs would lack that memory.
package struct FreedMemory: Sendable {
    /// The minimum amount of memory that is worth returning. Returning memory stops allocations for
    /// a moment.
    static let worthwhile = 32 << 20
    /// The approximate memory of a connection, not counting its content.
    static let connection = 32 << 10

    private var peak = 0

    package init() {}

    /// Whether much less memory is in use than before, so some can be returned.
    ///
    /// - Parameters:
    ///   - content: the bytes of content in memory for responses in progress.
    ///   - contentPeak: the maximum of `content` since the last call.
    ///   - connections: the number of open client connections.
    package mutating func isDue(content: Int, contentPeak: Int, connections: Int) -> Bool {
        let rest = connections * Self.connection
        let used = content + rest
        peak = max(peak, contentPeak + rest, used)
        // While more than half of the peak is in use, there is little to return.
        guard used <= peak / 2, peak - used >= Self.worthwhile else { return false }
        peak = used
        return true
    }
}

/// Returns freed memory to the operating system when the gateway has become quiet. For programs
/// only: a library must not manage the memory of its process.
package struct MemoryReturn: Sendable {
    private static let interval = Duration.seconds(5)

    private let engine: CacheEngine
    private let server: GatewayServer

    package init(_ engine: CacheEngine, _ server: GatewayServer) {
        self.engine = engine
        self.server = server
    }

    /// Runs until its task is canceled, or its service group shuts down.
    package func run() async {
        await cancelWhenGracefulShutdown {
            var freed = FreedMemory()
            while (try? await Task.sleep(for: Self.interval)) != nil {
                let places = engine.contentPermits
                let isDue = freed.isDue(
                    content: places.count * ContentPermits.permitLength,
                    contentPeak: places.takePeak() * ContentPermits.permitLength,
                    connections: server.connectionCount
                )
                // Not on an event loop, because it scans all free memory.
                if isDue { _ = try? await NIOThreadPool.singleton.runIfActive { Self.trim() } }
            }
        }
    }

    /// Returns the allocator's free memory to the operating system.
    ///
    /// - Returns: whether the allocator supports the call.
    @discardableResult
    static func trim() -> Bool {
        #if canImport(Glibc)
            // Swift's module for the C library does not include 'malloc.h'.
            guard let address = dlsym(nil, "malloc_trim") else { return false }
            // Safe: this is the function's type in glibc.
            let trim = unsafeBitCast(address, to: (@convention(c) (Int) -> CInt).self)
            _ = trim(0)
            return true
        #else
            return false
        #endif
    }
}
