import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Rules for `lookup`, `resident` and `openBody`.
    static let reading: [Rule] = [
        Rule("A key under which nothing is stored has no responses.") { tested in
            try await tested.mustPut(tested.draft(try tested.key("/x")), tested.body("x"))
            for key in [try tested.key("/y"), try tested.key("/x?"), try tested.key("/x", .principal("a"))] {
                tested.findings.equal(
                    try await tested.store.lookup(key).count,
                    0,
                    "responses of \(key.components.target)"
                )
                tested.findings.expect(tested.store.resident(key) ?? [] == [], "'resident' found responses")
            }
        },
        Rule("A stored response is returned as it was drafted: key, head and times.") { tested in
            for (name, fields) in strangeFields {
                let key = try tested.key("/" + name)
                let draft = tested.draft(key, fields: fields, selecting: [.accept: "a", .accept: "b"])
                let stored = try await tested.mustPut(draft, tested.body("x"))
                let found = try tested.findings.unwrap(
                    try await tested.store.lookup(key).first,
                    "\(name): no response was found"
                )
                tested.findings.equal(found, stored, "\(name): the lookup, compared with the result of 'finish'")
                tested.findings.equal(bytes(found.head.fields), bytes(fields), "\(name): the fields")
                tested.findings.equal(
                    bytes(found.head.selectingFields),
                    bytes(draft.head.selectingFields),
                    "\(name): the selecting fields"
                )
                tested.findings.expect(found.head == draft.head, "\(name): the head differs: \(found.head)")
                tested.findings.expect(found.key == key, "\(name): the key differs")
                tested.findings.equal(found.storedAt, draft.storedAt, "\(name): the time of storing")
                tested.findings.equal(found.bodyLength, 1, "\(name): the length of the body")
            }
        },
        Rule("A body is returned byte for byte, for any length and any chunks.") { tested in
            var random = tested.random(1)
            let lengths = [0, 1, 65_535, 65_536, 65_537, 131_072, StoreUnderTest.large]
            for length in lengths + (0..<4).map({ _ in Int.random(in: 0...200_000, using: &random) }) {
                let key = try tested.key("/\(length)")
                let body = tested.noise(length)
                let writer = try await tested.begin(tested.draft(key))
                var rest = body
                while rest.readableBytes > 0 {
                    let piece = min(rest.readableBytes, Int.random(in: 1...180_000, using: &random))
                    try await writer.append(rest.readSlice(length: piece) ?? ByteBuffer())
                }
                let stored = try tested.findings.unwrap(try await writer.finish(), "\(length) bytes were not stored")
                tested.findings.equal(stored.bodyLength, Int64(length), "the length of the body")
                let stream = try tested.findings.unwrap(
                    try await tested.store.openBody(of: stored),
                    "a body of \(length) bytes could not be opened"
                )
                tested.findings.expect(
                    stream.length.map { $0 == StatedLength(clamping: length) } ?? true,
                    "the stream of \(length) bytes has the length \(stream.length?.description ?? "none")"
                )
                let whole = try await stream.collect(upTo: 1 << 24)
                tested.findings.expect(
                    whole == body,
                    "a body of \(length) bytes is returned differently (\(whole.readableBytes))"
                )
            }
        },
        Rule("A part of a body is returned byte for byte, and the stream has the part's length.") { tested in
            var random = tested.random(2)
            for length in [1, 65_536, 65_537, 400_003] {
                let body = tested.noise(length)
                let stored = try await tested.mustPut(tested.draft(try tested.key("/\(length)")), body)
                var ranges = [0..<length, 0..<1, length - 1..<length, 0..<0, length..<length]
                if length > 65_537 { ranges += [65_535..<65_537, 65_536..<131_072, 1..<length - 1] }
                for _ in 0..<12 {
                    let ends = [Int.random(in: 0...length, using: &random), Int.random(in: 0...length, using: &random)]
                    ranges.append(min(ends[0], ends[1])..<max(ends[0], ends[1]))
                }
                for range in ranges {
                    let part = Int64(range.lowerBound)..<Int64(range.upperBound)
                    let stream = try tested.findings.unwrap(
                        try await tested.store.openBody(of: stored, range: part),
                        "bytes \(range) of \(length) could not be opened"
                    )
                    tested.findings.equal(
                        stream.length,
                        StatedLength(clamping: range.count),
                        "the length of the stream of \(range)"
                    )
                    let bytes = try await stream.collect(upTo: 1 << 24)
                    let isRight = bytes == body.getSlice(at: range.lowerBound, length: range.count)
                    tested.findings.expect(isRight, "bytes \(range) of \(length) came back changed")
                }
            }
        },
        Rule(
            "A body stays readable until its stream is released, even when its response is replaced, invalidated or removed."
        ) {
            tested in
            for how in [
                "replaced", "marked", "removed", "removed by its tag", "removed by its prefix",
                "removed with everything",
            ] {
                let key = try tested.key("/x")
                let body = tested.noise(StoreUnderTest.large)
                let stored = try await tested.mustPut(tested.draft(key, tags: ["t"]), body)
                let stream = try tested.findings.unwrap(
                    try await tested.store.openBody(of: stored),
                    "the body could not be opened"
                )
                var iterator = stream.makeAsyncIterator()
                var whole = try await iterator.next() ?? ByteBuffer()
                switch how {
                case "replaced": try await tested.mustPut(tested.draft(key), tested.noise(100_000, 9))
                case "marked": try await tested.invalidate(.key(key), soft: true)
                case "removed": try await tested.invalidate(.key(key), soft: false)
                case "removed by its prefix":
                    try await tested.invalidate(.prefix(try tested.prefix("/x")), soft: false)
                case "removed by its tag": try await tested.invalidate(.tag("t"), soft: false)
                default: try await tested.invalidate(.all, soft: false)
                }
                for index in 0..<8 {
                    try await tested.put(tested.draft(try tested.key("/\(index)")), tested.noise(90_000))
                }
                while let chunk = try await iterator.next() { whole.writeImmutableBuffer(chunk) }
                tested.findings.expect(whole == body, "\(how) while it was being read: the bytes differ")
            }
        },
        Rule("The body of a response that is no longer stored is whole or gone.") { tested in
            let key = try tested.key("/x")
            let old = try await tested.mustPut(tested.draft(key), tested.noise(100_000))
            let removed = try await tested.mustPut(tested.draft(try tested.key("/y")), tested.noise(100_000, 1))
            try await tested.mustPut(tested.draft(key), tested.noise(100_000, 2))
            try await tested.invalidate(.key(removed.key), soft: false)
            for (response, salt) in [(old, UInt64(0)), (removed, 1)] {
                let body = try await tested.read(response)
                tested.findings.expect(body == nil || body == tested.noise(100_000, salt), "a different body was read")
            }
        },
        Rule("'resident' returns all of a key's responses, or 'nil'.") { tested in
            let key = try tested.key("/x")
            for index in 0..<6 {
                let selecting: HTTPFields = [.accept: "\(index % 4)"]
                try await tested.mustPut(
                    tested.draft(key, fields: [.vary: "accept"], selecting: selecting),
                    tested.body("x")
                )
                let found = try await tested.store.lookup(key)
                if let resident = tested.store.resident(key) {
                    tested.findings.equal(Set(resident.map(\.id)), Set(found.map(\.id)), "the numbers of the responses")
                }
                if index == 4 { try await tested.invalidate(.key(key), soft: true) }
            }
        },
        Rule("Reading deletes nothing.") { tested in
            let key = try tested.key("/x")
            try await tested.mustPut(tested.draft(key), tested.body("x"))
            for _ in 0..<20 { tested.findings.equal(try await tested.texts(key), ["x"], "the bodies") }
        },
    ]

    /// Fields that a store might be tempted to normalize.
    private static let strangeFields: [(String, HTTPFields)] = {
        var order = HTTPFields()
        for (index, name) in [HTTPField.Name.setCookie, .via, .setCookie, .via, .cacheControl].enumerated() {
            order.append(HTTPField(name: name, value: "v\(index), \"a,b\""))
        }
        var bytes = HTTPFields()
        bytes.append(HTTPField(name: .server, lenientValue: [0x80, 0xFF, 0x20, 0xC3, 0x28]))
        bytes.append(
            HTTPField(name: .eTag, lenientValue: Array("\"f\u{fc}r\"".unicodeScalars.map { UInt8($0.value) }))
        )
        var many = HTTPFields()
        for index in 0..<200 {
            guard let name = HTTPField.Name("X-Field-\(index % 50)") else { continue }
            many.append(HTTPField(name: name, value: String(repeating: "\(index)", count: 40)))
        }
        var empty = HTTPFields()
        empty.append(HTTPField(name: .server, value: ""))
        return [("none", [:]), ("order", order), ("bytes", bytes), ("many", many), ("empty", empty)]
    }()

    /// Returns names and values as bytes, because as text, values that differ only in invalid UTF-8
    /// are equal.
    private static func bytes(_ fields: HTTPFields) -> [[UInt8]] {
        fields.flatMap { [Array($0.name.rawName.utf8), $0.withUnsafeBytesOfValue { Array($0) }] }
    }
}
