import ArgumentParser
import Holdfast
import Logging
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Standard output for data, standard error for everything else.
enum Console {
    /// Nobody reads standard output any more.
    struct Closed: Error {}

    static func write(_ chunk: ByteBuffer) throws {
        try chunk.withUnsafeReadableBytes { try write($0, to: STDOUT_FILENO) }
    }

    static func error(_ line: String) {
        var text = line + "\n"
        try? text.withUTF8 { try write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            #if canImport(Darwin)
                let count = Darwin.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            #elseif canImport(Musl)
                let count = Musl.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            #else
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            #endif
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw Closed()
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw CommandFailure("Writing the body failed: \(String(cString: strerror(errno))).")
            }
        }
    }
}

/// A failure with a message for the person at the shell; exit status 1.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Logger {
    /// Warnings and worse, to standard error.
    static var standardError: Logger {
        var logger = Logger(label: "holdfast") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }
}
