import HTTPCacheSemantics
import NIOCore

/// Stores an event stream if it stays within a rule's limit and ends with the rule's text.
///
/// If a stream grows too long, writing fails, as if the store were full. If its last event is
/// missing, it is not made visible. Readers are not affected.
actor EventStreamWriter: StoredResponseWriter {
    private let base: any StoredResponseWriter
    private let largest: Int64
    private let refusal: LateRefusal
    private var end: EventStreamEnd
    private var received: Int64 = 0

    init(_ base: any StoredResponseWriter, _ rule: EventStreamRule, _ refusal: LateRefusal) {
        self.base = base
        largest = rule.largest
        end = EventStreamEnd(rule.ending)
        self.refusal = refusal
    }

    func append(_ chunk: ByteBuffer) async throws {
        received += Int64(chunk.readableBytes)
        guard received <= largest else {
            refusal.note(.bodyLength)
            throw BodyStreamError.tooLarge(limit: Int(clamping: largest))
        }
        end.receive(chunk.readableBytesView)
        try await base.append(chunk)
    }

    var readableLength: Int64 {
        get async { await base.readableLength }
    }

    func readBack(from offset: Int64) async throws -> ByteBuffer { try await base.readBack(from: offset) }

    func finish() async throws -> StoredResponse? {
        guard end.isReached else {
            refusal.note(.lastEvent)
            await base.abandon()
            return nil
        }
        return try await base.finish()
    }

    func abandon() async { await base.abandon() }
}
