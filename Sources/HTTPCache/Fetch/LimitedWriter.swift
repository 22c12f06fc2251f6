import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// The lengths of bodies that a rule allows to be stored, in bytes.
struct BodyLimits: Sendable, Hashable {
    var minimum: Int64?
    var maximum: Int64?

    init(_ settings: ExchangeSettings) {
        minimum = settings.minimumBodyLength
        maximum = settings.maximumBodyLength
    }

    var isEmpty: Bool { minimum == nil && maximum == nil }

    /// Returns whether the length known before a body arrives is within the limits. For a part, the
    /// length of the complete response counts.
    func allow(_ draft: ResponseDraft) -> Bool {
        let isPart = draft.head.status == .partialContent
        guard let length = isPart ? draft.head.partialRange?.completeLength : draft.expectedLength else { return true }
        return length >= StatedLength(clamping: minimum ?? 0) && length.isWithin(maximum ?? .max)
    }

    /// Returns the limits to check while the body arrives.
    func remaining(for draft: ResponseDraft) -> BodyLimits {
        var limits = self
        // A part has fewer bytes.
        if draft.head.status == .partialContent { limits.minimum = nil }
        return limits
    }
}

/// Stores a body of unknown length if it stays within a rule's limits.
///
/// If a body grows too long, writing fails, as if the store were full. If a body turns out too
/// short, it is not made visible. Readers are not affected.
actor LimitedWriter: StoredResponseWriter {
    private let base: any StoredResponseWriter
    private let limits: BodyLimits
    private let refusal: LateRefusal
    private var received: Int64 = 0

    init(_ base: any StoredResponseWriter, _ limits: BodyLimits, _ refusal: LateRefusal) {
        self.base = base
        self.limits = limits
        self.refusal = refusal
    }

    func append(_ chunk: ByteBuffer) async throws {
        received += Int64(chunk.readableBytes)
        if let maximum = limits.maximum, received > maximum {
            refusal.note(.bodyLength)
            throw BodyStreamError.tooLarge(limit: Int(clamping: maximum))
        }
        try await base.append(chunk)
    }

    var readableLength: Int64 {
        get async { await base.readableLength }
    }

    func readBack(from offset: Int64) async throws -> ByteBuffer { try await base.readBack(from: offset) }

    func finish() async throws -> StoredResponse? {
        if let minimum = limits.minimum, received < minimum {
            refusal.note(.bodyLength)
            await base.abandon()
            return nil
        }
        return try await base.finish()
    }

    func abandon() async { await base.abandon() }
}
