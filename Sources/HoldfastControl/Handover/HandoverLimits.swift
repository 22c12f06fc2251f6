/// The limits of a handover. docs/limits.md lists them.
package enum HandoverLimits {
    /// The maximum number of connections to the socket of a handover.
    package static let connections = 8
    /// The maximum number of messages that the old process reads from a connection.
    static let messages = 4
    /// The maximum length of a message without its header, in bytes.
    package static let message = 16 << 10
    /// The maximum length of a reason, in bytes.
    static let reason = 1 << 10
    /// The maximum number of sockets that are handed over.
    package static let sockets = 1024
    /// The time for a process that has connected to send its first message, and for the old process
    /// to respond.
    package static let greeting = Duration.seconds(5)
    /// The time for the new process to prepare everything except the store.
    package static let preparation = Duration.seconds(60)
    /// The time for the old process to end, in addition to the time for its running requests.
    package static let ending = Duration.seconds(30)
}
