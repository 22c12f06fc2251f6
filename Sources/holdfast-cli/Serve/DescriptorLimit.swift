import CommandLineSupport
import LibC
import Logging

/// The limit on this process's open files and connections. The system's default is low, because
/// some programs still use `select(2)`.
enum DescriptorLimit {
    /// Raises the limit as far as the system allows, and logs a warning if that is not enough.
    ///
    /// - Parameters:
    ///   - connections: the number of client connections. Each may need a second connection to the
    ///   origin. The store also needs some descriptors.
    ///   - threads: the number of threads. Each needs descriptors for its event loop. The process
    ///   exits if an event loop cannot be created.
    ///   - listeners: the number of listeners. Each needs one descriptor per thread, and a few
    ///   more.
    /// - Throws: ``CommandFailure`` if the limit is too low for the gateway itself.
    static func raise(for connections: Int, threads: Int, listeners: Int, _ logger: Logger) throws {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        let least = rlim_t(56 + 12 * threads + (threads + 2) * (listeners - 1))
        let wanted = least + rlim_t(connections) * 2 + 256
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        _ = setrlimit(resource, &limit)
        _ = getrlimit(resource, &limit)
        guard limit.rlim_cur >= least else {
            throw CommandFailure(
                "The limit of open files is \(limit.rlim_cur); with '--threads \(threads)', the gateway needs at least \(least). "
                    + "Raise the limit ('ulimit -n', or 'LimitNOFILE' in a systemd unit)."
            )
        }
        guard limit.rlim_cur < rlim_t(connections) else { return }
        logger.warning(
            "Limit of open files is too low for the configured connections; raise it (ulimit -n, LimitNOFILE)",
            metadata: ["limits.connections": "\(connections)", "process.open_files": "\(limit.rlim_cur)"]
        )
    }
}
