import LibC
import NIOCore

/// A shortage of file descriptors: the process or the machine has reached its limit of open files.
package enum DescriptorShortage {
    /// Returns whether a system call failed because of the shortage.
    package static func isCause(of error: any Error) -> Bool {
        guard let error = error as? IOError else { return false }
        return error.errnoCode == EMFILE || error.errnoCode == ENFILE
    }

    /// Whether no descriptor is available right now. Needed because a resolver that cannot open a
    /// socket reports an unknown host name, so its error does not show the shortage.
    package static var isPresent: Bool {
        let descriptor = dup(STDERR_FILENO)
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return errno == EMFILE || errno == ENFILE
    }
}
