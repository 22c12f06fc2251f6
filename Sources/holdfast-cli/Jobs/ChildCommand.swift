import CommandLineSupport
import Foundation
import LibC
import LocalSockets

/// A command that runs in a process group of its own, so that signals reach all of its processes,
/// and none of them is left behind.
struct ChildCommand: Sendable {
    /// The process, and its group.
    private let id: pid_t
    /// Whether the command has the terminal in place of this process.
    private let hasTerminal: Bool

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - words: the program, searched for in `PATH`, and its arguments.
    ///   - environment: all variables.
    ///   - inherited: what the command gets from this process's caller. It gets no socket of the
    ///     gateway, in whose backlog its connections would wait forever if this process was killed.
    ///   - channel: a descriptor that the command gets as `IsolatedProcess.channel`.
    /// - Throws: `CommandFailure` if it cannot be started.
    init(
        _ words: [String],
        environment: [String: String],
        inherited: InheritedState,
        channel: OpenDescriptor? = nil
    ) throws {
        guard let program = words.first else { throw CommandFailure("There is no command after '--'.") }
        let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        #if canImport(Darwin)
            var attributes: posix_spawnattr_t?
            var actions: posix_spawn_file_actions_t?
        #else
            var attributes = posix_spawnattr_t()
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let channel { posix_spawn_file_actions_adddup2(&actions, channel.number, IsolatedProcess.channel) }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process ignores signals that end other processes.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))
        var child: pid_t = 0
        let code = inherited.restored {
            posix_spawnp(&child, program, &actions, &attributes, arguments, variables)
        }
        guard code == 0 else {
            throw CommandFailure("The command '\(program)' cannot be started: \(String(cString: strerror(code))).")
        }
        id = child
        hasTerminal = isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp()
        if hasTerminal {
            // This process is in the background from now on, and may still write and take the
            // terminal back.
            signal(SIGTTOU, SIG_IGN)
            tcsetpgrp(STDIN_FILENO, child)
            // The command may have tried to read before it had the terminal.
            kill(-child, SIGCONT)
        }
    }

    /// Sends a signal to all processes of the command.
    func send(_ number: CInt) { kill(-id, number) }

    /// Waits until the command ends, and ends the processes that it left behind.
    ///
    /// - Returns: the exit status as a shell reports it: 128 and the signal's number if a signal
    ///   ended the command.
    func wait() async -> CInt {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // The process is not collected yet, so its number is not used again.
                var ended = siginfo_t()
                while waitid(P_PID, id_t(id), &ended, WEXITED | WNOWAIT) != 0, errno == EINTR {}
                kill(-id, SIGKILL)
                var status: CInt = 0
                while waitpid(id, &status, 0) < 0, errno == EINTR {}
                if hasTerminal { tcsetpgrp(STDIN_FILENO, getpgrp()) }
                let number = status & 0x7F
                continuation.resume(returning: number == 0 ? (status >> 8) & 0xFF : 128 + number)
            }
        }
    }
}
