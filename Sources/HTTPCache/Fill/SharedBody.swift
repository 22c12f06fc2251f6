import NIOCore
import Synchronization

/// A body on its way from the origin, read by any number of callers, each at its own pace, while it is stored.
///
/// What has arrived stays in a window in memory. A chunk may leave the window once it is on disk, from where a reader that
/// fell behind gets it, or once some reader has passed it and another chunk needs its room. So a stored body is paced by the disk, one
/// that is not stored (any more) by its fastest reader, and none by its slowest; and memory is bounded. A reader that a body
/// without a store has left behind is told so.
final class SharedBody: Sendable {
    fileprivate struct Reader {
        var offset: Int64 = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    fileprivate enum End {
        case complete
        case failed(any Error)
    }

    fileprivate struct State {
        var window = CircularBuffer<ByteBuffer>()
        /// Offset of the window's first octet, and of the one after its last.
        var windowStart: Int64 = 0
        var windowEnd: Int64 = 0
        /// Octets from the beginning that the writer can read back.
        var persisted: Int64 = 0
        var writer: (any ResponseWriter)?
        var isStoring = false
        var isLengthKnown = false
        var readers: [Int: Reader] = [:]
        var nextReader = 0
        var end: End?
        /// Given up because nobody read it and it was not stored: nobody comes any more.
        var isAbandoned = false
        var producer: CheckedContinuation<Void, Never>?
    }

    /// Octets the window holds before chunks have to leave it. One chunk more may be in it.
    static let windowLimit: Int64 = 1 << 20
    /// Octets up to which chunks are put together.
    static let coalescedLimit = 16 << 10
    /// Octets of a body of unannounced length that are stored when nobody reads it (any more).
    static let unannouncedLimit: Int64 = 8 << 20

    /// Octets in the whole body, where the origin announced them.
    let length: Int64?
    private let state: Mutex<State>
    /// See ``SuspendingWrites``.
    private let writesInPlace: Bool
    private let onAbandoned: @Sendable () -> Void

    /// - Parameters:
    ///   - writesInPlace: the writer may be used where the body comes in.
    ///   - onAbandoned: called when the last reader leaves a body that is not being stored.
    init(
        length: Int64?,
        writer: (any ResponseWriter)?,
        writesInPlace: Bool = false,
        onAbandoned: @escaping @Sendable () -> Void
    ) {
        self.length = length
        self.writesInPlace = writesInPlace
        self.state = Mutex(State(writer: writer, isStoring: writer != nil, isLengthKnown: length != nil))
        self.onAbandoned = onAbandoned
    }

    // MARK: Producing (one task)

    /// Takes the next octets, wakes readers, stores, and waits where the window is full.
    ///
    /// - Returns: `false` when nobody reads and nothing is stored: there is no use in going on.
    func append(_ chunk: ByteBuffer) async -> Bool {
        guard chunk.readableBytes > 0 else { return true }
        let (writer, waiting) = state.withLock { state in
            state.append(chunk)
            state.windowEnd += Int64(chunk.readableBytes)
            return (state.isStoring ? state.writer : nil, state.takeWaitingReaders())
        }
        for reader in waiting { reader.resume() }
        if let writer { await store(chunk, in: writer) }
        return await waitForRoom()
    }

    private func store(_ chunk: ByteBuffer, in writer: any ResponseWriter) async {
        do {
            let readable =
                try await writesInPlace ? write(chunk, writer) : awayFromLoops { try await self.write(chunk, writer) }
            state.withLock { $0.persisted = readable }
        } catch {
            // A failing store never fails a response: the callers go on, and what is on disk already can still be read back.
            state.withLock { $0.isStoring = false }
            await writer.abandon()
        }
    }

    /// - Returns: octets that can be read back.
    private func write(_ chunk: ByteBuffer, _ writer: any ResponseWriter) async throws -> Int64 {
        try await writer.append(chunk)
        return await writer.readableLength
    }

    private func waitForRoom() async -> Bool {
        while true {
            if let proceed = state.withLock({ $0.mayProceed() }) { return proceed && !Task.isCancelled }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let resumeNow = state.withLock { state in
                        if Task.isCancelled || state.mayProceed() != nil { return true }
                        state.producer = continuation
                        return false
                    }
                    if resumeNow { continuation.resume() }
                }
            } onCancel: {
                state.withLock { $0.producer.take() }?.resume()
            }
            if Task.isCancelled { return false }
        }
    }

    /// Whether the body is still being stored; the fill asks before it commits.
    var isStoring: Bool { state.withLock { $0.isStoring } }

    /// The body is complete, or broke off. Readers see it after the octets before it.
    func finish(throwing error: (any Error)? = nil) {
        let waiting = state.withLock { state in
            state.end = error.map { .failed($0) } ?? .complete
            return state.takeWaitingReaders()
        }
        for reader in waiting { reader.resume() }
    }

    // MARK: Reading

    /// A new reader at the beginning; `nil` when the beginning is gone, or the body has been given up or broke off.
    ///
    /// - Parameter evenIfBroken: a body that broke off is read as far as it came.
    func makeReader(evenIfBroken: Bool = false) -> SharedBodyReader? {
        let id: Int? = state.withLock { state in
            guard state.windowStart <= state.persisted, !state.isAbandoned else { return nil }
            if case .failed = state.end, !evenIfBroken { return nil }
            defer { state.nextReader += 1 }
            state.readers[state.nextReader] = Reader()
            return state.nextReader
        }
        return id.map { SharedBodyReader(body: self, id: $0) }
    }

    fileprivate func next(_ id: Int) async throws -> ByteBuffer? {
        enum Step {
            case chunk(ByteBuffer, producer: CheckedContinuation<Void, Never>?)
            case readBack(any ResponseWriter, from: Int64)
            case end(End)
            case fellBehind
            case wait
        }
        while true {
            try Task.checkCancellation()
            let step: Step = state.withLock { state in
                let offset = state.readers[id]?.offset ?? 0
                if offset < state.windowStart {
                    guard let writer = state.writer, offset < state.persisted else { return .fellBehind }
                    return .readBack(writer, from: offset)
                }
                if let chunk = state.chunk(at: offset) {
                    return .chunk(chunk, producer: state.advance(id, by: chunk.readableBytes))
                }
                return state.end.map { .end($0) } ?? .wait
            }
            switch step {
            case .chunk(let chunk, let producer):
                producer?.resume()
                return chunk
            case .readBack(let writer, let offset):
                let chunk = try await awayFromLoops { try await writer.readBack(from: offset) }
                state.withLock { state in state.advance(id, by: chunk.readableBytes) }?.resume()
                return chunk
            case .fellBehind: throw BodyStreamError.fellBehind
            case .end(.complete): return nil
            case .end(.failed(let error)): throw error
            case .wait: await waitForChunk(id)
            }
        }
    }

    private func waitForChunk(_ id: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let resumeNow = state.withLock { state in
                    let offset = state.readers[id]?.offset ?? 0
                    // Checked again under the lock: the producer may have come between.
                    guard offset >= state.windowEnd, state.end == nil, !Task.isCancelled else { return true }
                    state.readers[id]?.waiting = continuation
                    return false
                }
                if resumeNow { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.readers[id]?.waiting.take() }?.resume()
        }
    }

    fileprivate func remove(_ id: Int) {
        let (producer, isAbandoned) = state.withLock { state in
            state.readers[id] = nil
            state.isAbandoned = state.readers.isEmpty && !state.mayGoOnAlone && state.end == nil
            return (state.producer.take(), state.isAbandoned)
        }
        producer?.resume()
        if isAbandoned { onAbandoned() }
    }
}

extension SharedBody.State {
    fileprivate mutating func takeWaitingReaders() -> [CheckedContinuation<Void, Never>] {
        readers.keys.compactMap { readers[$0]?.waiting.take() }
    }

    /// The rest of the window's chunk that holds `offset`.
    fileprivate func chunk(at offset: Int64) -> ByteBuffer? {
        guard offset >= windowStart, offset < windowEnd else { return nil }
        var start = windowStart
        for chunk in window {
            let end = start + Int64(chunk.readableBytes)
            if offset < end {
                return chunk.getSlice(at: chunk.readerIndex + Int(offset - start), length: Int(end - offset))
            }
            start = end
        }
        return nil
    }

    /// - Returns: the producer, where it waits for this.
    fileprivate mutating func advance(_ id: Int, by count: Int) -> CheckedContinuation<Void, Never>? {
        readers[id]?.offset += Int64(count)
        return producer.take()
    }

    /// Small chunks are put together, so that finding one in the window stays cheap whatever the origin sends.
    fileprivate mutating func append(_ chunk: ByteBuffer) {
        guard let last = window.last, last.readableBytes + chunk.readableBytes <= SharedBody.coalescedLimit else {
            window.append(chunk)
            return
        }
        window[window.index(before: window.endIndex)].writeImmutableBuffer(chunk)
    }

    /// Whether a fill goes on when nobody reads: it is stored, and its end is in sight.
    fileprivate var mayGoOnAlone: Bool {
        isStoring && (isLengthKnown || windowEnd <= SharedBody.unannouncedLimit)
    }

    /// `nil`: wait for a reader.
    fileprivate mutating func mayProceed() -> Bool? {
        trim(to: SharedBody.windowLimit)
        if readers.isEmpty { return mayGoOnAlone }
        if isStoring || windowEnd - windowStart <= SharedBody.windowLimit { return true }
        return nil
    }

    /// Drops chunks from the window's beginning while it is over the limit and they are on disk or passed by the fastest reader.
    fileprivate mutating func trim(to limit: Int64) {
        let fastest = readers.values.map(\.offset).max() ?? windowEnd
        while windowEnd - windowStart > limit, let first = window.first {
            let end = windowStart + Int64(first.readableBytes)
            guard end <= persisted || (!isStoring && end <= fastest) else { return }
            window.removeFirst()
            windowStart = end
        }
    }
}

/// One caller's place in a ``SharedBody``; leaving is letting go of it.
final class SharedBodyReader: Sendable {
    private let body: SharedBody
    private let id: Int
    private let isStarted = Atomic(false)

    fileprivate init(body: SharedBody, id: Int) {
        self.body = body
        self.id = id
    }

    deinit { body.remove(id) }

    var stream: BodyStream {
        BodyStream(length: body.length) {
            let isFirst = self.isStarted.exchange(true, ordering: .relaxed) == false
            return {
                guard isFirst else { throw BodyStreamError.alreadyRead }
                return try await self.body.next(self.id)
            }
        }
    }
}
