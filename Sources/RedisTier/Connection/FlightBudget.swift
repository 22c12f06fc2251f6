import Synchronization

/// Counts the commands of a connection from submission to reply, and limits their number and bytes.
/// It is thread-safe.
final class FlightBudget: Sendable {
    private let mostCommands: Int
    private let mostBytes: Int
    private let commands = Atomic(0)
    private let bytes = Atomic(0)

    init(commands: Int, bytes: Int) {
        mostCommands = commands
        mostBytes = bytes
    }

    var usedCommands: Int { commands.load(ordering: .relaxed) }
    var usedBytes: Int { bytes.load(ordering: .relaxed) }

    /// Reserves room for one command.
    ///
    /// - Throws: ``RedisTierError/Code/busy`` if a limit is exceeded.
    func reserve(_ byteCount: Int) throws(RedisTierError) {
        let commands = commands.add(1, ordering: .relaxed).newValue
        let bytes = bytes.add(byteCount, ordering: .relaxed).newValue
        guard commands <= mostCommands, bytes <= mostBytes else {
            release(byteCount)
            throw RedisTierError(
                .busy,
                commands > mostCommands
                    ? "A connection may have at most \(mostCommands) commands in flight."
                    : "The commands in flight on a connection may have at most \(mostBytes) bytes in total."
            )
        }
    }

    func release(_ byteCount: Int, commands count: Int = 1) {
        commands.subtract(count, ordering: .relaxed)
        bytes.subtract(byteCount, ordering: .relaxed)
    }
}
