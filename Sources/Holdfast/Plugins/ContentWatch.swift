import HTTPCache
import NIOCore
import Synchronization

/// Counts content while it passes, and tells once how it ended: also when nobody reads it to its
/// end.
final class ContentWatch: Sendable {
    private struct State {
        var beginning: [UInt8] = []
        var bytes: Int64 = 0
        var hasEnded = false
    }

    private let limit: Int
    private let elapsed: @Sendable () -> Duration
    private let tell: @Sendable (ReceivedContent) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: bytes that are kept for those who are told.
    ///   - elapsed: the time since the request was sent.
    init(
        limit: Int,
        elapsed: @escaping @Sendable () -> Duration,
        tell: @escaping @Sendable (ReceivedContent) -> Void
    ) {
        self.limit = limit
        self.elapsed = elapsed
        self.tell = tell
    }

    deinit { end(.givenUp) }

    /// The body, under watch for as long as anybody has it.
    func watching(_ body: BodyStream) -> BodyStream {
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
                    end(error is CancellationError ? .givenUp : .brokenOff(error))
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
        if let received { tell(received) }
    }
}
