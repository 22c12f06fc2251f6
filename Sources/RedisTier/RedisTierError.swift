import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An error of the Redis client.
///
/// The message names the limit or the fault, and the next step. It contains no command arguments
/// and no credentials.
package struct RedisTierError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors. After ``malformed``, ``limit(_:)`` and ``unexpected`` the connection is
    /// closed, because it is unknown where the next reply starts.
    package enum Code: Sendable, Hashable {
        /// The server sent bytes that are not RESP.
        case malformed
        /// The server sent more than a limit allows.
        case limit(RESPLimits.Kind)
        /// The server sent a reply without a command, or a reply of the wrong type.
        case unexpected
        /// No connection could be made.
        case unreachable
        /// The server rejected the credentials or the handshake.
        case rejected
        /// The connection ended before the reply arrived. The command may have been executed.
        case closed
        /// The deadline passed before the reply arrived. The command may have been executed.
        case timedOut
        /// The limit of commands, or of their bytes, in flight is reached.
        case busy
        /// The waiting task was cancelled. The command may have been executed.
        case cancelled
        /// There is no connection, or the breaker is open. Nothing was sent.
        case unavailable
    }

    /// The kind of error.
    package let code: Code
    /// A sentence for an operator.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    /// An error as part of a sentence: without a period, system call names and error numbers.
    static func clause(_ error: any Error) -> String {
        if let error = error as? NIOConnectionError {
            let causes = error.connectionErrors.map(\.error) + [error.dnsAError, error.dnsAAAAError].compactMap { $0 }
            if let cause = causes.first { return clause(cause) }
        }
        if let error = error as? IOError { return String(cString: strerror(error.errnoCode)) }
        var text = "\(error)"
        while text.hasSuffix(".") { text.removeLast() }
        return text
    }

    static func malformed(_ fault: String) -> RedisTierError {
        RedisTierError(.malformed, "The server sent bytes that are not RESP: \(fault). The connection was closed.")
    }
}
