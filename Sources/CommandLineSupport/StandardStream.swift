#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Standard output for data, standard error for everything else.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Nobody reads it any more.
    package struct Closed: Error {}

    /// To be called before anything is opened.
    package static func prepare() {
        // Whoever reads the output may stop reading ('| head'): that is an error of a write, not
        // the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // Descriptors that the caller closed would be given to the first files and sockets that are
        // opened, and output would go there.
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            if descriptor < 0 || descriptor > STDERR_FILENO {
                close(descriptor)
                return
            }
        }
    }

    /// Writes all of it, by the system's own call: `FileHandle` does not tell a closed pipe from a
    /// full disk.
    ///
    /// - Throws: ``Closed``, or ``CommandFailure`` (a full disk, say).
    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = systemWrite(rawValue, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw Closed()
            } else if errno == EAGAIN {
                // A terminal or pipe that somebody set to be non-blocking.
                var ready = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw CommandFailure(
                    "Writing to standard \(self) failed: \(String(cString: strerror(errno))). What was written is incomplete."
                )
            }
        }
    }

    /// Writes a line, and is content if nobody reads it.
    package func line(_ text: String) {
        var text = text + "\n"
        try? text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
    }
}

/// `write(2)`, which has the name of a method here.
private let systemWrite = write
