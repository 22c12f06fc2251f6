import HTTPCacheSemantics
import NIOCore
import Synchronization

/// A body arriving from the origin. Any number of callers read it, each at its own pace, while it
/// is stored.
///
/// The received bytes stay in a window in memory. The window is limited, so a chunk leaves it when
/// a new chunk needs the space:
/// - If the body is being stored, a chunk may leave once it is on disk, where slower readers find
///   it. The disk sets the pace.
/// - If the body is not being stored (or no longer), a chunk may leave once the fastest reader has
///   passed it. That reader sets the pace, and a reader that fell behind gets an error.
///
/// The slowest reader never sets the pace. When the last reader leaves, a body that is not being
/// stored ends. A body that is being stored continues for a limited time: see ``UnreadLimit``.
final class InFlightBody: Sendable {
    fileprivate struct Reader {
        var offset: Int64 = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    fileprivate enum End {
        case complete
        case failed(any Error)
    }

    /// A stored body that continues without a reader for a limited time.
    fileprivate struct Unread {
        var entry: UnreadWatch.Entry
        /// The number of bytes received when the last reader left.
        var start: Int64
        var isExtended = false
    }

    fileprivate struct State {
        var window = BodyWindow()
        var writer: (any StoredResponseWriter)?
        var isStoring = false
        var readers: [Int: Reader] = [:]
        var nextReader = 0
        var end: End?
        /// Whether the whole body has been received, and is being stored.
        var isWhole = false
        var unread: Unread?
        /// The number of times that the last reader has left. Needed because an expired timer may
        /// belong to an earlier time without readers.
        var unreadCount = 0
        /// Whether the body was abandoned because it had no reader. No reader can join anymore.
        var isAbandoned = false
        var producer: CheckedContinuation<Void, Never>?
    }

    /// The maximum length of the window, in bytes. It may be exceeded by one chunk.
    static let windowLimit: Int64 = 1 << 20

    /// The length of the whole body in bytes, if the origin stated it.
    let length: StatedLength?
    /// Has the reason, if it becomes known only after the head that the body is not stored.
    let lateRefusal: LateRefusal?
    private let state: Mutex<State>
    /// See ``ResponseStore/suspendsWhileWriting``.
    private let writesInPlace: Bool
    private let unreadLimit: UnreadLimit
    private let watch: UnreadWatch?
    private let onAbandoned: @Sendable () -> Void

    /// - Parameters:
    ///   - writesInPlace: whether the writer may be used on the executor where the body arrives.
    ///   - unread: how long a body that is being stored continues after the last reader leaves. The
    ///     default is the limit for a background fetch.
    ///   - watch: enforces the `unread` limit.
    ///   - lateRefusal: receives the reason that the body is not stored.
    ///   - onAbandoned: called when the body is abandoned because it has no reader.
    init(
        length: StatedLength?,
        writer: (any StoredResponseWriter)?,
        writesInPlace: Bool = false,
        unread: UnreadLimit? = nil,
        watch: UnreadWatch? = nil,
        lateRefusal: LateRefusal? = nil,
        onAbandoned: @escaping @Sendable () -> Void
    ) {
        self.length = length
        self.writesInPlace = writesInPlace
        self.unreadLimit = unread ?? UnreadLimit(length: length, isBackground: true)
        self.watch = watch
        self.lateRefusal = lateRefusal
        self.state = Mutex(State(writer: writer, isStoring: writer != nil))
        self.onAbandoned = onAbandoned
    }

    // MARK: Producing (one task)

    /// Receives the next bytes: wakes readers, stores the bytes, and waits if the window is full.
    ///
    /// - Returns: `false` if there is no reader and the body is not being stored, so that the fetch
    ///   is no longer useful.
    func append(_ chunk: ByteBuffer) async -> Bool {
        guard chunk.readableBytes > 0 else { return true }
        let (writer, waiting) = state.withLock { state in
            state.window.append(chunk)
            return (state.isStoring ? state.writer : nil, state.takeWaitingReaders())
        }
        for reader in waiting { reader.resume() }
        if let writer { await store(chunk, in: writer) }
        return await waitForRoom()
    }

    private func store(_ chunk: ByteBuffer, in writer: any StoredResponseWriter) async {
        do {
            let readable = try await ExecutionContext.system.perform(suspends: writesInPlace) {
                try await writer.append(chunk)
                return await writer.readableLength
            }
            state.withLock { $0.window.persisted = readable }
        } catch {
            // A failing store never fails a response: the callers continue, and the bytes already
            // on disk can still be read back. A writer that enforces a rule has already noted its
            // own reason.
            lateRefusal?.note(.store)
            state.withLock { $0.isStoring = false }
            await writer.abandon()
        }
    }

    private func waitForRoom() async -> Bool {
        while true {
            if let proceed = state.withLock({ mayProceed(&$0) }) { return proceed && !Task.isCancelled }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let resumeNow = state.withLock { state in
                        if Task.isCancelled || mayProceed(&state) != nil { return true }
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

    /// Whether the body is still being stored. The in-flight fetch checks this before it commits.
    var isStoring: Bool { state.withLock { $0.isStoring } }

    /// Whether the body has ended. If it is complete and may be stored, it is stored.
    var hasEnded: Bool { state.withLock { $0.end != nil } }

    /// Records that the whole body was received. Storing it will end soon, so it continues with or
    /// without a reader.
    func receivedAll() {
        state.withLock { state in
            state.isWhole = true
            endUnread(&state)
        }
    }

    /// Returns the whole body, for a check before it is stored. Bytes that have left the window are
    /// read from the store.
    ///
    /// Only the producer calls this, after the last byte.
    func content() async throws -> ByteBuffer {
        let (writer, start, window) = state.withLock { ($0.writer, Int($0.window.start), $0.window.chunks) }
        // Usually the body arrived in one piece, which need not be copied.
        if start == 0, window.count <= 1 { return window.first ?? ByteBuffer() }
        var content = ByteBuffer()
        while content.readableBytes < start, let writer {
            let offset = content.readableBytes
            let chunk = try await ExecutionContext.system.perform { try await writer.readBack(from: Int64(offset)) }
            guard chunk.readableBytes > 0 else { throw BodyStreamError.fellBehind }
            content.writeBytes(chunk.readableBytesView.prefix(start - offset))
        }
        for chunk in window { content.writeImmutableBuffer(chunk) }
        return content
    }

    /// Ends the body. Without an error, it is complete; otherwise it was cut short. Readers see the
    /// end after all received bytes.
    func finish(throwing error: (any Error)? = nil) {
        let waiting = state.withLock { state in
            endUnread(&state)
            state.end = error.map { .failed($0) } ?? .complete
            return state.takeWaitingReaders()
        }
        for reader in waiting { reader.resume() }
    }

    // MARK: Reading

    /// Creates a reader at the beginning; returns `nil` if the beginning is gone, or if the body
    /// was abandoned or cut short.
    ///
    /// - Parameter evenIfBroken: whether a body that was cut short can be read as far as it was
    ///   received.
    func makeReader(evenIfBroken: Bool = false) -> InFlightBodyReader? {
        let id: Int? = state.withLock { state in
            guard state.window.start <= state.window.persisted, !state.isAbandoned else { return nil }
            if case .failed = state.end, !evenIfBroken { return nil }
            endUnread(&state)
            defer { state.nextReader += 1 }
            state.readers[state.nextReader] = Reader()
            return state.nextReader
        }
        return id.map { InFlightBodyReader(body: self, id: $0) }
    }

    fileprivate func next(_ id: Int) async throws -> ByteBuffer? {
        enum Step {
            case chunk(ByteBuffer, producer: CheckedContinuation<Void, Never>?)
            case readBack(any StoredResponseWriter, from: Int64)
            case end(End)
            case fellBehind
            case wait
        }
        while true {
            try Task.checkCancellation()
            let step: Step = state.withLock { state in
                let offset = state.readers[id]?.offset ?? 0
                if offset < state.window.start {
                    guard let writer = state.writer, offset < state.window.persisted else { return .fellBehind }
                    return .readBack(writer, from: offset)
                }
                if let chunk = state.window.chunk(at: offset) {
                    return .chunk(chunk, producer: state.advance(id, by: chunk.readableBytes))
                }
                return state.end.map { .end($0) } ?? .wait
            }
            switch step {
            case .chunk(let chunk, let producer):
                producer?.resume()
                return chunk
            case .readBack(let writer, let offset):
                let chunk = try await ExecutionContext.system.perform { try await writer.readBack(from: offset) }
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
                    // Check again under the lock, because the producer may have delivered bytes in
                    // between.
                    guard offset >= state.window.end, state.end == nil, !Task.isCancelled else { return true }
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
            if state.readers.isEmpty, state.end == nil { state.isAbandoned = !continueUnread(&state) }
            return (state.producer.take(), state.isAbandoned)
        }
        producer?.resume()
        if isAbandoned { onAbandoned() }
    }

    // MARK: Without a reader

    /// Returns whether the body continues after the last reader has left.
    private func continueUnread(_ state: inout State) -> Bool {
        guard state.isStoring else { return false }
        state.unreadCount += 1
        let count = state.unreadCount
        switch unreadLimit.allowance(at: state.window.end) {
        case .end: return state.isWhole
        case .goOn(let time) where !state.isWhole:
            guard let watch else { return true }
            let entry = watch.begin(
                time,
                expire: { [weak self] in self?.expire(count) },
                end: { [weak self] in self?.giveUp { $0.unreadCount == count } }
            )
            state.unread = entry.map { Unread(entry: $0, start: state.window.end) }
            return entry != nil
        case .goOn, .goOnToTheEnd: return true
        }
    }

    private func expire(_ count: Int) {
        giveUp { state in
            guard state.unreadCount == count, let unread = state.unread else { return false }
            guard !unread.isExtended else { return true }
            switch unreadLimit.allowance(at: state.window.end, since: unread.start) {
            case .end: return true
            case .goOnToTheEnd: return false
            case .goOn(let time):
                state.unread?.isExtended = true
                if let entry = watch?.extend(unread.entry, time, expire: { [weak self] in self?.expire(count) }) {
                    state.unread?.entry = entry
                }
                return false
            }
        }
    }

    /// Ends the fetch, unless the body has a reader again, or was received completely.
    private func giveUp(where isDue: (inout State) -> Bool) {
        let producer: CheckedContinuation<Void, Never>?? = state.withLock { state in
            guard state.readers.isEmpty, state.end == nil, !state.isWhole, isDue(&state) else { return nil }
            state.isAbandoned = true
            endUnread(&state)
            return .some(state.producer.take())
        }
        guard let producer else { return }
        producer?.resume()
        onAbandoned()
    }

    private func endUnread(_ state: inout State) {
        guard let unread = state.unread.take() else { return }
        watch?.end(unread.entry)
    }

    /// Returns whether the producer may continue. `nil` means that it must wait for a reader.
    private func mayProceed(_ state: inout State) -> Bool? {
        // Chunks may leave if they are on disk, or, if the body is not being stored, once the
        // fastest reader has passed them.
        let passed = state.isStoring ? 0 : state.readers.values.map(\.offset).max() ?? state.window.end
        state.window.trim(to: Self.windowLimit, passed: passed)
        guard state.readers.isEmpty else {
            return state.isStoring || state.window.length <= Self.windowLimit ? true : nil
        }
        return state.isStoring && !state.isAbandoned && unreadLimit.allowance(at: state.window.end) != .end
    }
}

extension InFlightBody.State {
    fileprivate mutating func takeWaitingReaders() -> [CheckedContinuation<Void, Never>] {
        readers.keys.compactMap { readers[$0]?.waiting.take() }
    }

    /// - Returns: the producer, if it is waiting for a reader.
    fileprivate mutating func advance(_ id: Int, by count: Int) -> CheckedContinuation<Void, Never>? {
        readers[id]?.offset += Int64(count)
        return producer.take()
    }
}

/// One caller's position in an ``InFlightBody``. A caller leaves by releasing its reader.
final class InFlightBodyReader: Sendable {
    private let body: InFlightBody
    private let id: Int
    private let isStarted = Atomic(false)

    fileprivate init(body: InFlightBody, id: Int) {
        self.body = body
        self.id = id
    }

    deinit { body.remove(id) }

    var lateRefusal: LateRefusal? { body.lateRefusal }

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
