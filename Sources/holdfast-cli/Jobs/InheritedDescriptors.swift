import Foundation
import LibC

/// The descriptors that this process got from the one that started it, such as those of make's job
/// server. A command gets the same.
struct InheritedDescriptors: Sendable {
    private let numbers: Set<CInt>

    /// Takes note of the open descriptors, before the process opens any of its own.
    init() { numbers = Self.open }

    /// Keeps the descriptors that were opened since from the processes that start from now on. NIO
    /// opens its sockets without `SOCK_CLOEXEC`.
    func closeOthersInChildren() {
        for number in Self.open.subtracting(numbers) { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
    }

    private static var open: Set<CInt> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
        return Set(names.compactMap { CInt($0) })
    }
}
