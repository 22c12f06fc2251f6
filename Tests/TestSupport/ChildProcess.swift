package import Foundation

/// A process of one executable, started with `posix_spawn`.
///
/// Foundation's `Process` sometimes crashes on Linux if several start while other threads are busy,
/// as in tests.
package final class ChildProcess: Sendable {
    /// The output and status of a process.
    package struct Ending: Sendable {
        package let status: Int32
        /// Whether a signal ended the process.
        package let wasKilled: Bool
    }

    struct SpawnError: Error {
        let path: String
        let code: Int32
    }

    package let identifier: Int32
    private let ending: Task<Ending, Never>

    /// Starts the process. The caller keeps ownership of the descriptors.
    ///
    /// - Parameters:
    ///   - environment: added to the test's own.
    ///   - input: `nil` for none.
    ///   - inherited: what the child has as descriptor 3; `nil` for nothing.
    package init(
        _ executable: URL,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: Int32? = nil,
        output: Int32,
        error: Int32,
        inherited: Int32? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, error, 2)
        if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited, 3) }
        closeDescriptors(from: inherited == nil ? 3 : 4, in: &actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of a pool block signals. A process that inherited that would ignore a signal to
        // end.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = ([executable.path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var variables: [UnsafeMutablePointer<CChar>?] = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for variable in variables { free(variable) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, executable.path, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw SpawnError(path: executable.path, code: code) }
        let identifier = child
        self.identifier = identifier
        ending = Task {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    var status: Int32 = 0
                    while waitpid(identifier, &status, 0) == -1, errno == EINTR {}
                    let signal = status & 0x7F
                    continuation.resume(
                        returning: Ending(status: signal == 0 ? (status >> 8) & 0xFF : signal, wasKilled: signal != 0)
                    )
                }
            }
        }
    }

    /// Returns when the process has ended. Cancellation (a test's time limit) ends it, and so does
    /// an error of `afterStart`.
    package func end(afterStart: () async throws -> Void = {}) async throws -> Ending {
        try await withTaskCancellationHandler {
            do {
                try await afterStart()
            } catch {
                kill(identifier, SIGKILL)
                _ = await ending.value
                throw error
            }
            return await ending.value
        } onCancel: {
            kill(identifier, SIGKILL)
        }
    }
}
