import HTTPCacheSemantics
import NIOCore
import Synchronization

/// Selects the event loop for each request. Consecutive requests to one origin get the same loop,
/// so that they can reuse that loop's connection. Concurrent requests are spread over the loops.
final class LeastBusyLoops: Sendable {
    /// A request's loop. Return it after the response's head has arrived.
    struct Lease: Sendable {
        let loop: any EventLoop
        fileprivate let index: Int
    }

    private let loops: [any EventLoop]
    private let busy: Mutex<[Int]>

    init(_ group: any EventLoopGroup) {
        let loops = Array(group.makeIterator())
        self.loops = loops
        busy = Mutex([Int](repeating: 0, count: loops.count))
    }

    func take(for target: TargetURI) -> Lease {
        let first = Int(truncatingIfNeeded: (target.host.hashValue &+ Int(target.port)) & 0xFFFF) % loops.count
        let index = busy.withLock { busy in
            var least = first
            for offset in 1..<max(busy.count, 2) {
                let index = (first + offset) % busy.count
                if busy[index] < busy[least] { least = index }
            }
            busy[least] += 1
            return least
        }
        return Lease(loop: loops[index], index: index)
    }

    func give(back lease: Lease) {
        busy.withLock { $0[lease.index] -= 1 }
    }
}
