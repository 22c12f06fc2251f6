import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Rules for `beginWrite` and `StoredResponseWriter`.
    static let writing: [Rule] = [
        Rule("Nothing is visible before 'finish'.") { tested in
            let key = try tested.key("/x")
            let writer = try await tested.begin(tested.draft(key))
            tested.findings.equal(try await tested.store.lookup(key).count, 0, "responses after 'beginWrite'")
            try await writer.append(tested.noise(StoreUnderTest.large))
            tested.findings.equal(try await tested.store.lookup(key).count, 0, "responses after 'append'")
            let stored = try await writer.finish()
            tested.findings.equal(
                try await tested.store.lookup(key),
                stored.map { [$0] } ?? [],
                "the lookup after 'finish'"
            )
            tested.findings.expect(stored != nil, "'finish' returned nil, though nothing was invalidated")
        },
        Rule("While a new response is being written, lookups find the response that it will replace.") { tested in
            let key = try tested.key("/x")
            try await tested.mustPut(tested.draft(key), tested.body("old"))
            let writer = try await tested.begin(tested.draft(key))
            try await writer.append(tested.body("new"))
            tested.findings.equal(try await tested.texts(key), ["old"], "the bodies before 'finish'")
            _ = try await writer.finish()
            tested.findings.equal(try await tested.texts(key), ["new"], "the bodies after 'finish'")
        },
        Rule("After 'abandon' nothing is visible, even after further calls.") { tested in
            let key = try tested.key("/x")
            let writer = try await tested.begin(tested.draft(key))
            try await writer.append(tested.body("half"))
            await writer.abandon()
            let stored = try? await writer.finish()
            tested.findings.expect(stored == nil, "'finish' after 'abandon' returned a stored response")
            tested.findings.equal(try await tested.store.lookup(key).count, 0, "responses after 'abandon'")
        },
        Rule("'abandon' does nothing after 'finish'.") { tested in
            let key = try tested.key("/x")
            let writer = try await tested.begin(tested.draft(key))
            try await writer.append(tested.body("whole"))
            _ = try await writer.finish()
            await writer.abandon()
            tested.findings.equal(try await tested.texts(key), ["whole"], "the bodies after 'finish' and 'abandon'")
        },
        Rule("A writer that is dropped without 'finish' leaves nothing behind.") { tested in
            let key = try tested.key("/x")
            do {
                let writer = try await tested.begin(tested.draft(key))
                try await writer.append(tested.noise(StoreUnderTest.large))
            }
            tested.findings.equal(try await tested.store.lookup(key).count, 0, "responses")
        },
        Rule(
            "Bytes below 'readableLength' are read back as they were appended: before 'finish', after it, and after 'abandon'."
        ) {
            tested in
            for isFinished in [true, false] {
                let body = tested.noise(StoreUnderTest.large)
                let writer = try await tested.begin(tested.draft(try tested.key("/\(isFinished)")))
                var offset = 0
                for length in [1, 70_000, 300_000, body.readableBytes - 370_001] {
                    try await writer.append(body.getSlice(at: offset, length: length) ?? ByteBuffer())
                    offset += length
                    try await readBack(body, upTo: offset, writer, tested)
                }
                if isFinished { _ = try await writer.finish() } else { await writer.abandon() }
                try await readBack(body, upTo: offset, writer, tested)
                let length = await writer.readableLength
                if isFinished {
                    try await tested.invalidate(.all, soft: false)
                    try await readBack(body, upTo: Int(length), writer, tested)
                }
            }
        },
        Rule("A response with too many tags, or a tag that is too long, is not stored.") { tested in
            let key = try tested.key("/x")
            let many = (0...ResponseDraft.maximumTagCount).map { "tag-\($0)" }
            let long = String(repeating: "x", count: ResponseDraft.maximumTagLength + 1)
            for tags in [many, [long]] {
                let stored = try await tested.put(tested.draft(key, tags: tags), tested.body("x"))
                tested.findings.expect(stored == nil, "\(tags.count) tags, the longest of \(tags[0].utf8.count) bytes")
            }
            tested.findings.equal(try await tested.store.lookup(key).count, 0, "responses")
            let fitting = many.dropLast().map { $0 + String(repeating: "x", count: 1000) }
            let stored = try await tested.put(tested.draft(key, tags: fitting), tested.body("x"))
            tested.findings.expect(stored != nil, "\(fitting.count) tags of 1,006 bytes were declined")
        },
        Rule("A number is never used for two responses.") { tested in
            var numbers: [Int64] = []
            for round in 0..<12 {
                numbers.append(
                    try await tested.mustPut(tested.draft(try tested.key("/\(round % 3)")), tested.body("x")).id
                )
                if round % 4 == 3 { try await tested.invalidate(.all, soft: false) }
            }
            tested.findings.equal(Set(numbers).count, numbers.count, "distinct numbers of the responses")
        },
    ]

    private static func readBack(
        _ body: ByteBuffer,
        upTo appended: Int,
        _ writer: any StoredResponseWriter,
        _ tested: StoreUnderTest
    ) async throws {
        let readable = Int(await writer.readableLength)
        tested.findings.expect(readable <= appended, "'readableLength' is \(readable) after \(appended) bytes")
        for offset in [0, 1, 65_535, 65_536, 100_001, readable / 2, readable - 1] where offset >= 0 && offset < readable
        {
            let bytes = try await writer.readBack(from: Int64(offset))
            tested.findings.expect(bytes.readableBytes > 0, "nothing was read from byte \(offset) of \(readable)")
            let isRight = bytes == body.getSlice(at: offset, length: bytes.readableBytes)
            tested.findings.expect(isRight, "the bytes differ from byte \(offset)")
        }
    }
}
