import LibC
import NIOCore
import NIOPosix

/// An error from the Redis client.
///
/// The message names the limit or the fault, and the next step. It contains no command arguments or
/// credentials.
package struct RedisTierError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors. After ``malformed``, ``limit(_:)`` and ``unexpected``, the connection
    /// is closed, because the start of the next reply is unknown.
    package enum Code: Sendable, Hashable {
        /// The server sent bytes that are not RESP.
        case malformed
        /// The server's reply exceeds a limit.
        case limit(RESPLimits.Kind)
        /// The server sent a reply that no command requested, or a reply of the wrong type.
        case unexpected
        /// The connection attempt failed.
        case unreachable
        /// The server rejected the credentials or the handshake.
        case rejected
        /// The connection ended before the reply arrived. The command may have been executed.
        case closed
        /// The deadline passed before the reply arrived. The command may have been executed.
        case timedOut
        /// A limit on the commands in flight, or on their bytes, was reached. Nothing was sent.
        case busy
        /// The waiting task was canceled. The command may have been executed.
        case cancelled
        /// There is no connection, or the circuit breaker is open. Nothing was sent.
        case unavailable
    }

    /// The kind of error.
    package let code: Code
    /// A sentence for the operator.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    /// Formats an error as part of a sentence: without a period, the name of a system call or an
    /// error number.
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
