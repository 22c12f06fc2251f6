import LibC

/// The standard streams: output for data, error for everything else.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// The error that the stream's reader has closed it.
    package struct Closed: Error {}

    /// Prepares the process. Call this before opening anything.
    package static func prepare() {
        // The reader may stop reading ('| head'). A write then fails, and must not end the process.
        signal(SIGPIPE, SIG_IGN)
        // If the caller closed a standard descriptor, the system would give it to the first file or
        // socket that is opened, and output would go there.
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            if descriptor < 0 || descriptor > STDERR_FILENO {
                close(descriptor)
                return
            }
        }
    }

    /// Writes all bytes with the system call, because `FileHandle` does not distinguish a closed
    /// pipe from a full disk.
    ///
    /// - Throws: ``Closed``, or ``CommandFailure``, for example if the disk is full.
    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = systemWrite(rawValue, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw Closed()
            } else if errno == EAGAIN {
                // Another process made the terminal or pipe non-blocking.
                var ready = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw CommandFailure(
                    "Writing to standard \(self) failed: \(String(cString: strerror(errno))). The output is incomplete."
                )
            }
        }
    }

    /// Whether a person may be reading the stream.
    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Writes a line. Ignores errors, such as a closed stream.
    package func line(_ text: String) {
        var text = text + "\n"
        try? text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
    }
}

/// The system's `write(2)`, which is hidden by a method above.
private let systemWrite = write
