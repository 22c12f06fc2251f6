import CProcess
import CommandLineSupport
import LibC
import LocalSockets

/// The process that becomes the command of `holdfast record --isolated`.
///
/// It is this program, started again: a process with several threads cannot enter a user namespace,
/// and the command must have nothing of the recorder's memory. ``IsolatedCommand`` is the other
/// end.
enum IsolatedProcess {
    /// The first argument of the process. The command follows.
    static let word = "run-isolated"
    /// The descriptor of the socket to the recorder.
    static let channel: CInt = 3

    /// Enters the namespace, waits for the command's environment, and becomes the command. The
    /// process must have one thread.
    static func run(_ command: [String]) -> Never {
        do {
            let listener = try enter()
            guard DescriptorMessage.send([0], [listener], to: channel) else {
                throw CommandFailure("'holdfast \(word)' is a part of 'holdfast record --isolated'.")
            }
        } catch {
            let text = "\(error)"
            if !DescriptorMessage.send(Array(text.utf8), to: channel) { StandardStream.error.line("Error: \(text)") }
            _exit(1)
        }
        guard let variables = receive() else { _exit(1) }
        become(command, with: variables)
    }

    /// Enters a network namespace in which only this process's listener can be reached.
    ///
    /// - Returns: a socket that listens on a free port of 127.0.0.1 there.
    /// - Throws: `CommandFailure`
    private static func enter() throws -> OpenDescriptor {
        let (user, group) = (geteuid(), getegid())
        // Programs of root may change their user, as apt does. A user namespace with one user would
        // not allow that, and root needs none.
        let needsUser = user != 0
        guard cprocess_leaveNetwork(needsUser ? 1 : 0) == 0 else {
            let need = needsUser ? "user namespaces" : "CAP_SYS_ADMIN"
            throw failure("The process cannot enter a network namespace", "'--isolated' needs Linux and \(need).")
        }
        if needsUser {
            // The order is required. user_namespaces(7)
            try set("/proc/self/setgroups", to: "deny")
            try set("/proc/self/uid_map", to: "\(user) \(user) 1")
            try set("/proc/self/gid_map", to: "\(group) \(group) 1")
        }
        let listener = cprocess_listenOnLoopback()
        guard listener >= 0 else {
            throw failure("The namespace has no loopback", "Allow unprivileged user namespaces, or run as root.")
        }
        return OpenDescriptor(owning: listener)
    }

    private static func set(_ file: String, to text: String) throws {
        let descriptor = open(file, O_WRONLY | O_CLOEXEC)
        let isWritten = descriptor >= 0 && write(descriptor, text, text.utf8.count) == text.utf8.count
        guard isWritten else {
            throw failure(
                "The file '\(file)' cannot be written",
                "Allow unprivileged user namespaces, or run as root."
            )
        }
        close(descriptor)
    }

    private static func failure(_ fact: String, _ advice: String) -> CommandFailure {
        CommandFailure("\(fact): \(String(cString: strerror(errno))). \(advice)")
    }

    /// Waits for the command's environment.
    ///
    /// - Returns: the variables; `nil` if the recorder has ended.
    private static func receive() -> [String]? {
        var bytes: [UInt8] = []
        while true {
            switch DescriptorMessage.receive(from: channel) {
            case .content(let more, _): bytes += more
            case .ended: return variables(in: bytes)
            case .failed: return nil
            }
        }
    }

    /// Returns variables such as `HOME=/root` as the process reads them: each ends with a zero
    /// byte, and so does the list, because a recorder that was killed sends only a part.
    static func bytes(of environment: [String: String]) -> [UInt8] {
        environment.flatMap { Array("\($0.key)=\($0.value)".utf8) + [0] } + [0]
    }

    private static func variables(in bytes: [UInt8]) -> [String]? {
        guard bytes == [0] || bytes.suffix(2) == [0, 0] else { return nil }
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func become(_ command: [String], with variables: [String]) -> Never {
        #if os(Linux)
            clearenv()
        #endif
        // The process keeps the text.
        for variable in variables { putenv(strdup(variable)) }
        // Kernels before 5.9 have no such call.
        if cprocess_closeFrom(3) != 0 { for number in 3..<max(3, getdtablesize()) { close(number) } }
        let arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        let program = command.first ?? ""
        execvp(program, arguments)
        let reason = String(cString: strerror(errno))
        StandardStream.error.line("Error: The command '\(program)' cannot be started: \(reason).")
        _exit(127)
    }
}
