import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Keeps a body in memory beside storing it, so that a caller's ``ContentCheck`` can look at all of it before it is made visible.
///
/// One that grows longer than the check may hold is given up as by a store that is full. Readers notice nothing.
actor CheckedWriter: ResponseWriter {
    /// The body is longer than the check may hold.
    struct TooLong: Error {}

    private let base: any ResponseWriter
    private let check: ContentCheck
    private let head: HTTPResponse
    private var content = ByteBuffer()

    init(_ base: any ResponseWriter, _ check: ContentCheck, _ draft: ResponseDraft) {
        self.base = base
        self.check = check
        head = HTTPResponse(status: draft.head.status, headerFields: draft.head.fields)
    }

    func append(_ chunk: ByteBuffer) async throws {
        guard chunk.readableBytes <= check.maximumBytes - content.readableBytes else {
            content = ByteBuffer()
            throw TooLong()
        }
        content.writeImmutableBuffer(chunk)
        try await base.append(chunk)
    }

    /// Looks at all that was appended.
    ///
    /// - Throws: what the check throws.
    func examine() async throws {
        try await check.check(head, content)
    }

    var readableLength: Int64 {
        get async { await base.readableLength }
    }

    func readBack(from offset: Int64) async throws -> ByteBuffer { try await base.readBack(from: offset) }

    func finish() async throws -> StoredResponse? { try await base.finish() }

    func abandon() async {
        content = ByteBuffer()
        await base.abandon()
    }
}
