import Foundation
import TestSupport
import Testing

/// The executable `store-worker` as a process, read line by line on a thread of its own.
///
/// It is started with `posix_spawn`: Foundation's `Process` sometimes crashes on Linux when several
/// are started while other threads are busy.
struct WorkerProcess: Sendable {
    /// The result of a process.
    struct Ending: Sendable {
        /// Every complete line that it wrote.
        var lines: [String]
        var status: Int32
        /// The signal that ended it, or zero.
        var signal: Int32
    }

    let arguments: [String]

    init(_ arguments: String...) { self.arguments = arguments }

    /// Runs the process until it ends, or until `judge` has it killed.
    ///
    /// `judge` is called after each line with the number of lines so far. It returns the
    /// microseconds after which the process is killed, or `nil`.
    ///
    /// - Parameter secondsWithoutALine: the silence after which the process is treated as hanging,
    ///   and killed.
    func run(
        secondsWithoutALine: Int = 120,
        until judge: @escaping @Sendable (Int) -> Int? = { _ in nil }
    ) async throws -> Ending {
        let path = try Self.path
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try self.runHere(path, secondsWithoutALine, judge) })
            }
        }
    }

    /// The executable in the folder of the test bundle.
    private static var path: String {
        get throws {
            let bundle = try #require(CommandLine.arguments.first { $0.contains(".xctest") }, "not run by 'swift test'")
            var folder = URL(fileURLWithPath: bundle)
            while folder.path.contains(".xctest") { folder.deleteLastPathComponent() }
            let path = folder.appendingPathComponent("store-worker").path
            try #require(
                access(path, X_OK) == 0,
                "'store-worker' is not built: 'swift build --build-tests' builds it."
            )
            return path
        }
    }

    private func runHere(_ path: String, _ silence: Int, _ judge: (Int) -> Int?) throws -> Ending {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
        defer { close(ends[0]) }
        let child = try spawn(path, output: ends[1])
        close(ends[1])
        var bytes: [UInt8] = []
        var count = 0
        var isKilled = false
        func end(after microseconds: Int) {
            if isKilled { return }
            isKilled = true
            if microseconds > 0 { usleep(UInt32(microseconds)) }  // lets time pass
            kill(child, SIGKILL)
        }
        if let delay = judge(0) { end(after: delay) }
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            var waiting = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
            let ready = poll(&waiting, 1, Int32(silence * 1000))
            if ready < 0, errno == EINTR { continue }
            if ready == 0 {
                bytes += Array("hangs\n".utf8)
                end(after: 0)
                continue
            }
            let length = read(ends[0], &buffer, buffer.count)
            if length <= 0 { break }
            bytes += buffer[..<length]
            for byte in buffer[..<length] where byte == UInt8(ascii: "\n") {
                count += 1
                if !isKilled, let delay = judge(count) { end(after: delay) }
            }
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
        // Bytes after the last line end are incomplete.
        let whole = bytes.prefix((bytes.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1)
        return Ending(
            lines: String(decoding: whole, as: UTF8.self).split(separator: "\n").map(String.init),
            status: (status >> 8) & 0xff,
            signal: status & 0x7f
        )
    }

    private func spawn(_ path: String, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        closeDescriptors(from: 3, in: &actions)
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, nil, &words, environ)
        guard code == 0 else { throw POSIXError(POSIXError.Code(rawValue: code) ?? .EIO) }
        return child
    }
}
