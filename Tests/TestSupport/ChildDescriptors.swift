#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#else
    package import Darwin
#endif

/// Prevents a child process from inheriting this process's open files and sockets.
///
/// Sockets of SwiftNIO are inheritable. A connection stays open, and a listener keeps accepting,
/// until every process that inherited it has closed it. So a child process that one test starts can
/// break another test that closes a socket meanwhile.
///
/// - Parameter first: the first descriptor to close. Pass the one after those that the child needs.
package func closeDescriptors(from first: CInt, in actions: inout posix_spawn_file_actions_t) {
    #if canImport(Darwin)
        for descriptor in first..<1024 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    #else
        // In the child, closing a descriptor that is not open is no error.
        for descriptor in first..<min(CInt(clamping: sysconf(CInt(_SC_OPEN_MAX))), 4096) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
    #endif
}
