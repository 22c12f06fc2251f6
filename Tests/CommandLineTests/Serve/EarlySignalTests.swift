#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Signals that come while `holdfast serve` starts.
    @Suite(.timeLimit(.minutes(20))) struct EarlySignalTests {
        private struct Sample {
            var handled: UInt64
            var threads: Int
        }

        /// The signals that a process handles, as a mask, and its threads; `nil` if it has ended.
        private func sample(_ process: ChildProcess) -> Sample? {
            guard let text = try? String(contentsOfFile: "/proc/\(process.identifier)/status", encoding: .utf8) else {
                return nil
            }
            func value(_ name: String) -> Substring? {
                text.split(separator: "\n").first { $0.hasPrefix(name + ":\t") }?.dropFirst(name.count + 2)
            }
            guard let mask = value("SigCgt").flatMap({ UInt64($0, radix: 16) }),
                let threads = value("Threads").flatMap({ Int($0) })
            else { return nil }
            return Sample(handled: mask, threads: threads)
        }

        private func bits(_ signals: [Int32]) -> UInt64 { signals.reduce(0) { $0 | 1 << UInt64($1 - 1) } }

        /// The process handles them before it has a second thread, and obeys them once it can.
        @Test func signalsDuringTheStartWaitUntilTheyAreHandled() async throws {
            try await TemporaryFolder.with { folder in
                let handled = bits([SIGHUP, SIGUSR1, SIGTERM, SIGINT])
                for round in 0..<10 {
                    let (output, error) = (Pipe(), Pipe())
                    let process = try ChildProcess(
                        Tool("holdfast").url,
                        [
                            "serve", "--listen", "127.0.0.1:0", "--origin", "http://127.0.0.1:1", "--store",
                            folder.appendingPathComponent("\(round).store").path,
                        ],
                        output: output.fileHandleForWriting.fileDescriptor,
                        error: error.fileHandleForWriting.fileDescriptor
                    )
                    try output.fileHandleForWriting.close()
                    try error.fileHandleForWriting.close()
                    let ending = try await process.end {
                        while let sample = sample(process), sample.handled & handled != handled {
                            #expect(sample.threads == 1, "round \(round): it runs and handles no signals")
                            await Task.yield()
                        }
                        for _ in 0..<5 {
                            kill(process.identifier, SIGHUP)
                            kill(process.identifier, SIGUSR1)
                        }
                        let line = await OutputReader(output).firstLine()
                        #expect(line.hasPrefix("holdfast listening on http://"), "round \(round): \(line)")
                        let log = OutputReader(error)
                        #expect(await !log.line(containing: "reload").isEmpty, "round \(round)")
                        kill(process.identifier, SIGTERM)
                        _ = await log.rest()
                    }
                    #expect(ending.status == 0 && !ending.wasKilled, "round \(round)")
                }
            }
        }
    }
#endif
