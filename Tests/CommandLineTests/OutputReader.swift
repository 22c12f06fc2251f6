import Foundation

/// Reads the output of a running process, without blocking the threads that tests run on.
struct OutputReader: Sendable {
    private let handle: FileHandle

    init(_ pipe: Pipe) {
        handle = pipe.fileHandleForReading
    }

    /// The first line with its line end, or all output if the process ended before.
    func firstLine() async -> String {
        await onAThread {
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
        }
    }

    /// The rest of the output, until the process ends.
    func rest() async -> String {
        await onAThread { String(decoding: (try? handle.readToEnd()) ?? Data(), as: UTF8.self) }
    }

    private func onAThread(_ body: @escaping @Sendable () -> String) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
