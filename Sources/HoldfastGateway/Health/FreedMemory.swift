package import HTTPCache
import NIOPosix
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#endif

/// Decides when memory that was freed goes back to the system. docs/decisions/0050
///
/// The allocator keeps freed memory for later. After thousands of clients that read nothing have
/// left, that is memory that other programs lack.
package struct FreedMemory: Sendable {
    /// The least memory that is worth the work: giving it back stops allocations for a moment.
    static let worthwhile = 32 << 20
    /// About the memory of a connection, besides the content for it.
    static let connection = 32 << 10

    private var peak = 0

    package init() {}

    /// Whether much less is used now than before, so that memory can be given back.
    ///
    /// - Parameters:
    ///   - content: bytes of content in memory for responses under way.
    ///   - contentPeak: the most of them since the last call.
    ///   - connections: open connections of clients.
    package mutating func isDue(content: Int, contentPeak: Int, connections: Int) -> Bool {
        let rest = connections * Self.connection
        let used = content + rest
        peak = max(peak, contentPeak + rest, used)
        // While most of it is in use there is little to give back.
        guard used <= peak / 2, peak - used >= Self.worthwhile else { return false }
        peak = used
        return true
    }
}

/// Gives freed memory back to the system when the gateway has become quiet. For a program of its
/// own: a library leaves the memory of its process alone.
package struct MemoryReturn: Sendable {
    private static let interval = Duration.seconds(5)

    private let engine: CacheEngine
    private let server: GatewayServer

    package init(_ engine: CacheEngine, _ server: GatewayServer) {
        self.engine = engine
        self.server = server
    }

    /// Runs until its task is cancelled, or its service group shuts down.
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
                // Not on an event loop: it looks through all free memory.
                if isDue { _ = try? await NIOThreadPool.singleton.runIfActive { Self.trim() } }
            }
        }
    }

    /// - Returns: whether the allocator could be asked.
    @discardableResult
    static func trim() -> Bool {
        #if canImport(Glibc)
            // Swift's module of the C library has no 'malloc.h'.
            guard let address = dlsym(nil, "malloc_trim") else { return false }
            // Safe: this is its type in glibc.
            let trim = unsafeBitCast(address, to: (@convention(c) (Int) -> CInt).self)
            _ = trim(0)
            return true
        #else
            return false
        #endif
    }
}
