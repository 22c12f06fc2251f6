import Foundation
import TestSupport
import Testing

/// A terminal that runs a command, with a person who has typed the answer already.
enum Terminal {
    /// - Returns: the command's ending, and all that the terminal showed.
    static func run(
        _ executable: URL,
        _ arguments: [String],
        typing answer: String
    ) async throws -> (ChildProcess.Ending, String) {
        let (person, command) = try open()
        let typed = Array(answer.utf8)
        try #require(write(person, typed, typed.count) == typed.count)
        let process = try ChildProcess(executable, arguments, input: command, output: command, error: command)
        let ending = try await process.end()
        // The output of the command may still be on its way. A mark written now arrives after it.
        let mark = Array("\u{1}end\u{1}".utf8)
        try #require(write(command, mark, mark.count) == mark.count)
        var shown: [UInt8] = []
        while shown.suffix(mark.count) != mark[...] {
            var chunk = [UInt8](repeating: 0, count: 1 << 12)
            let count = read(person, &chunk, chunk.count)
            try #require(count > 0)
            shown += chunk.prefix(count)
        }
        close(command)
        close(person)
        return (ending, String(decoding: shown.dropLast(mark.count), as: UTF8.self))
    }

    /// The two sides of a new terminal.
    private static func open() throws -> (person: Int32, command: Int32) {
        #if os(Linux)
            // The calls of POSIX are not in the module of the C library.
            let person = Foundation.open("/dev/ptmx", O_RDWR | O_NOCTTY)
            var isLocked: Int32 = 0
            var number: UInt32 = 0
            let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
            try #require(ioctl(person, unlock, &isLocked) == 0 && ioctl(person, getNumber, &number) == 0)
            let name = "/dev/pts/\(number)"
        #else
            let person = posix_openpt(O_RDWR | O_NOCTTY)
            try #require(grantpt(person) == 0 && unlockpt(person) == 0)
            let name = try #require(ptsname(person).map { String(cString: $0) })
        #endif
        let command = Foundation.open(name, O_RDWR | O_NOCTTY)
        try #require(command >= 0)
        return (person, command)
    }
}
