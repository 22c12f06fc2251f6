import HTTPCache
import NIOCore
import Synchronization

/// Counts content as it passes through, and reports its end exactly once, even if no caller reads
/// all of it.
final class ContentWatch: Sendable {
    private struct State {
        var beginning: [UInt8] = []
        var bytes: Int64 = 0
        var hasEnded = false
    }

    private let limit: Int
    private let elapsed: @Sendable () -> Duration
    private let report: @Sendable (ReceivedContent) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: the number of bytes to keep for the report.
    ///   - elapsed: returns the time since the request was sent.
    init(
        limit: Int,
        elapsed: @escaping @Sendable () -> Duration,
        report: @escaping @Sendable (ReceivedContent) -> Void
    ) {
        self.limit = limit
        self.elapsed = elapsed
        self.report = report
    }

    deinit { end(.abandoned) }

    /// Returns the body, which is watched for as long as it exists.
    func watch(_ body: BodyStream) -> BodyStream {
        BodyStream(length: body.length) { [self] in
            var iterator = body.makeAsyncIterator()
            return { [self] in
                do {
                    guard let chunk = try await iterator.next() else {
                        end(.complete)
                        return nil
                    }
                    count(chunk)
                    return chunk
                } catch {
                    end(error is CancellationError ? .abandoned : .brokenOff(error))
                    throw error
                }
            }
        }
    }

    private func count(_ chunk: ByteBuffer) {
        state.withLock { state in
            state.bytes += Int64(chunk.readableBytes)
            let room = limit - state.beginning.count
            if room > 0 { state.beginning += chunk.readableBytesView.prefix(room) }
        }
    }

    private func end(_ ending: ReceivedContent.Ending) {
        let received: ReceivedContent? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return ReceivedContent(
                beginning: state.beginning,
                bytes: state.bytes,
                ending: ending,
                duration: elapsed()
            )
        }
        if let received { report(received) }
    }
}
