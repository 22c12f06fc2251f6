import Foundation
import Synchronization

/// Reads the output of a running process, without blocking the threads that tests run on.
final class OutputReader: Sendable {
    private let handle: FileHandle
    /// The lines that ``line(containing:)`` skipped.
    private let skipped = Mutex<[String]>([])

    init(_ pipe: Pipe) {
        handle = pipe.fileHandleForReading
    }

    /// The first line with its line end, or all output if the process ended before.
    func firstLine() async -> String {
        await onAThread { [handle] in
            var line = Data()
            while line.last != UInt8(ascii: "\n") {
                guard let next = try? handle.read(upToCount: 1), !next.isEmpty else { break }
                line.append(next)
            }
            return String(decoding: line, as: UTF8.self)
        }
    }

    /// The next line that contains a text; skips those before it. Empty if the process ended
    /// before.
    func line(containing text: String) async -> String {
        while true {
            let line = await firstLine()
            if line.isEmpty || line.contains(text) { return line }
            skipped.withLock { $0.append(line) }
        }
    }

    /// Like ``line(containing:)``, but also finds a line that was skipped: for lines whose order
    /// the program does not promise.
    func skippedOrNextLine(containing text: String) async -> String {
        if let line = skipped.withLock({ $0.first { $0.contains(text) } }) { return line }
        return await line(containing: text)
    }

    /// The rest of the output, until the process ends.
    func rest() async -> String {
        await onAThread { [handle] in String(decoding: (try? handle.readToEnd()) ?? Data(), as: UTF8.self) }
    }

    private func onAThread(_ body: @escaping @Sendable () -> String) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
