import HTTPCacheSemantics
import NIOCore
import Synchronization

/// Says on which event loop a request is told of: the same one for an origin as long as its
/// requests follow each other, so that the connection that they find is that loop's; those that are
/// under way together are spread.
final class LeastBusyLoops: Sendable {
    /// A request's loop; to be given back when its answer's head is there.
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
