import Foundation
import LibC

/// The state that this process got from its caller and passes on to a command: the descriptors,
/// such as those of make's job server, the umask, and the niceness.
struct InheritedState: Sendable {
    private let descriptors: Set<CInt>
    private let mask: mode_t

    /// Takes note of the state, before the process changes any of it.
    init() {
        descriptors = Self.openDescriptors
        mask = umask(0o077)
        umask(mask)
    }

    /// Starts a process in `body`, with the state.
    ///
    /// Descriptors that were opened since are kept from it and from all later ones: NIO opens its
    /// sockets without `SOCK_CLOEXEC`. Meanwhile, a file that another thread creates has the
    /// caller's umask, but the folders that are open here admit no other user.
    func restored<Result>(_ body: () throws -> Result) rethrows -> Result {
        for number in Self.openDescriptors.subtracting(descriptors) { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        let own = umask(mask)
        defer { umask(own) }
        // On Linux, each thread has a niceness, and Dispatch sets that of its threads if it may.
        // The main thread has the caller's.
        let niceness = getpriority(Self.process, 0)
        setpriority(Self.process, 0, getpriority(Self.process, id_t(getpid())))
        defer { setpriority(Self.process, 0, niceness) }
        return try body()
    }

    private static var openDescriptors: Set<CInt> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
        return Set(names.compactMap { CInt($0) })
    }

    #if canImport(Darwin)
        private static let process = PRIO_PROCESS
    #else
        private static let process = CInt(clamping: PRIO_PROCESS.rawValue)
    #endif
}
