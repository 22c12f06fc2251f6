// RFC 7541: header compression. A decoder that fails ends the connection. RFC 9113 §4.3

extension HTTP2Cases {
    static func compressionCases() -> [HTTP2Case] {
        tableCases() + sizeUpdateCases() + integerCases() + stringCases() + representationCases() + exampleCases()
    }

    private static let failure = Expectation.connectionError(.compressionError)

    /// A GET whose last bytes are these.
    private static func get(_ bytes: UInt8...) -> [UInt8] { Frame.headers(1, .get("/", FieldBlock(bytes))) }

    private static func get(_ parts: FieldBlock..., on stream: UInt32 = 1) -> [UInt8] {
        Frame.headers(stream, .get("/", FieldBlock(parts.flatMap(\.bytes))))
    }

    private static func tableCases() -> [HTTP2Case] {
        var table = CaseTable("7541 §2.3")
        let kept = FieldBlock.field("x-kept", "1", .incremental)
        table.add("the last field of the static table is known", get(.indexed(61)), expect: .ok(1))
        table.add("the first field of an empty dynamic table is an error", get(.indexed(62)), expect: failure)
        table.add("a field beyond the dynamic table is an error", get(kept, .indexed(63)), expect: failure)
        table.add("a field of the dynamic table is known in its own block", get(kept, .indexed(62)), expect: .ok(1))
        table.add(
            "the newest field is the first",
            get(.field("x-old", "1", .incremental), kept),
            get(.indexed(62), .indexed(63), on: 3),
            expect: .ok(1, 3)
        )
        table.add("an index without an end is an error", get(0xFF), expect: failure)
        table.add("a huge index is an error", get(0xFF, 0xFF, 0xFF, 0xFF, 0x07), expect: failure)
        var eviction = CaseTable("7541 §4")
        let large = FieldBlock.field("x-large", String(repeating: "a", count: 4_096 - 32 - 7), .incremental)
        eviction.add("a field that fills the table stays", get(large), get(.indexed(62), on: 3), expect: .ok(1, 3))
        eviction.add("a field that fills the table drops the others", get(kept, large, .indexed(63)), expect: failure)
        let larger = FieldBlock.field("x-large", String(repeating: "a", count: 4_096 - 32 - 6), .incremental)
        eviction.add("a field larger than the table is no error", get(larger), expect: .ok(1))
        eviction.add("a field larger than the table empties it", get(kept, larger, .indexed(62)), expect: failure)
        return table.cases + eviction.cases
    }

    private static func sizeUpdateCases() -> [HTTP2Case] {
        var table = CaseTable("7541 §6.3")
        let kept = FieldBlock.field("x-kept", "1", .incremental)
        func updated(_ sizes: Int..., on stream: UInt32 = 1, then last: FieldBlock = FieldBlock()) -> [UInt8] {
            Frame.headers(stream, .block(FieldBlock(sizes.flatMap { FieldBlock.tableSize($0).bytes }), .get("/", last)))
        }
        table.add("a smaller size at the beginning is accepted", updated(1_024), expect: .ok(1))
        table.add("the announced size is accepted", updated(4_096), expect: .ok(1))
        table.add("two sizes at the beginning are accepted", updated(0, 4_096), expect: .ok(1))
        table.add("a size beyond the announced one is an error", updated(4_097), expect: failure)
        table.add(
            "a huge size is an error",
            Frame.headers(1, .block(FieldBlock([0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]), .get())),
            expect: failure
        )
        table.add(
            "a size after a field is an error",
            Frame.headers(1, .block(.get, .tableSize(1_024), .http, .root, .authority())),
            expect: failure
        )
        table.add("a size at the end is an error", get(.tableSize(1_024)), expect: failure)
        table.add("a size of 0 empties the table", get(kept), updated(0, on: 3, then: .indexed(62)), expect: failure)
        table.add(
            "nothing stays in a table of 0",
            updated(0, then: kept),
            get(.indexed(62), on: 3),
            expect: failure,
            note: "A field larger than the table is not added (§4.4); an index without a field must be an error (§6.1)."
        )
        table.add(
            "a table of 0 can grow again",
            updated(0),
            updated(4_096, on: 3, then: kept),
            get(.indexed(62), on: 5),
            expect: .ok(1, 3, 5)
        )
        return table.cases
    }

    private static func integerCases() -> [HTTP2Case] {
        var table = CaseTable("7541 §5.1")
        let ones = [UInt8](repeating: 0xFF, count: 9)
        table.add("an index that overflows is an error", get(FieldBlock([0xFF] + ones + [0x7F])), expect: failure)
        table.add(
            "a length that overflows is an error",
            get(FieldBlock([0x00, 0x7F] + ones + [0x7F])),
            expect: failure
        )
        table.add(
            "a size that overflows is an error",
            Frame.headers(1, .block(FieldBlock([0x3F] + ones + [0x7F]), .get())),
            expect: failure
        )
        table.add(
            "an index of 64 bits is an error",
            get(FieldBlock([0xFF, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02])),
            expect: failure
        )
        table.add(
            "an integer that does not end is an error",
            get(FieldBlock([0xFF] + [UInt8](repeating: 0x80, count: 40))),
            expect: failure
        )
        // An integer has one shortest form, and the RFC does not ask for it.
        table.add(
            "zeros at the end of an integer do no harm",
            get(FieldBlock([0x0F, 0x80, 0x80, 0x00, 0x01, 0x61])),
            expect: .either([.response(1, [200]), failure])
        )
        table.add(
            "an integer on the border of its prefix is understood",
            get(FieldBlock([0x0F, 0x00, 0x01, 0x61])),
            expect: .ok(1)
        )
        return table.cases
    }

    private static func stringCases() -> [HTTP2Case] {
        var table = CaseTable("7541 §5.2")
        func value(_ encoded: [UInt8]) -> [UInt8] { get(FieldBlock([0x00, 0x01, 0x78] + encoded)) }
        table.add(
            "Huffman's code is understood",
            Frame.headers(1, .block(.get, .http, .root, .field(1, encoded: FieldBlock.huffman("a.example")))),
            expect: .ok(1)
        )
        table.add(
            "Huffman's code is understood in a name",
            get(FieldBlock([0x00] + FieldBlock.huffman("x-name") + FieldBlock.string("1"))),
            expect: .ok(1)
        )
        table.add("an empty string in Huffman's code is accepted", value([0x80]), expect: .ok(1))
        table.add("seven bits of padding are accepted", value(FieldBlock.huffman("aceio")), expect: .ok(1))
        table.add(
            "eight bits of padding are an error",
            value(FieldBlock.huffman(encoded: HuffmanCode.encode("aceioste") + [0xFF])),
            expect: failure
        )
        table.add("a byte of padding alone is an error", value([0x81, 0xFF]), expect: failure)
        table.add("padding of zeros is an error", value([0x81, 0x18]), expect: failure)
        table.add("padding that is not all ones is an error", value([0x81, 0x1E]), expect: failure)
        table.add("the end symbol is an error", value([0x84, 0xFF, 0xFF, 0xFF, 0xFF]), expect: failure)
        table.add(
            "the end symbol between letters is an error",
            value([0x86, 0x1F, 0xFF, 0xFF, 0xFF, 0xF8, 0xFF]),
            expect: failure
        )
        table.add("a string longer than the block is an error", value([0x05, 0x61]), expect: failure)
        table.add("a string in Huffman's code longer than the block is an error", value([0x85, 0x1F]), expect: failure)
        table.add("a name without a value is an error", get(0x00, 0x01, 0x78), expect: failure)
        table.add("a literal without a name is an error", get(0x00), expect: failure)
        table.add(
            "a line break in Huffman's code is malformed",
            value([0x84, 0xFF, 0xFF, 0xFF, 0xF3]),
            expect: .malformed(1)
        )
        return table.cases
    }

    private static func representationCases() -> [HTTP2Case] {
        var table = CaseTable("7541 §6")
        table.add("an index of 0 is an error", get(0x80), expect: failure)
        let kinds: [(String, FieldBlock.Indexing)] = [
            ("indexed", .incremental), ("not indexed", .without), ("never indexed", .never),
        ]
        for (name, indexing) in kinds {
            table.add("a literal that is \(name) is accepted", get(.field("x-new", "1", indexing)), expect: .ok(1))
            table.add(
                "a literal that is \(name) may have an indexed name",
                get(.field(58, "test", indexing)),
                expect: .ok(1)
            )
            table.add(
                "a literal that is \(name) with an unknown name is an error",
                get(.field(70, "test", indexing)),
                expect: failure
            )
        }
        table.add(
            "a literal that is not indexed stays out of the table",
            get(.field("x-new", "1"), .indexed(62)),
            expect: failure
        )
        table.add(
            "a literal that is never indexed stays out of the table",
            get(.field("x-new", "1", .never), .indexed(62)),
            expect: failure
        )
        table.add(
            "a name of the dynamic table is known",
            get(.field("x-new", "1", .incremental), .field(62, "2")),
            expect: .ok(1)
        )
        return table.cases
    }

    private static func exampleCases() -> [HTTP2Case] {
        func requests(_ blocks: String...) -> [UInt8] {
            blocks.enumerated().flatMap { Frame.headers(UInt32(2 * $0.offset + 1), FieldBlock(bytes(of: $0.element))) }
        }
        var plain = CaseTable("7541 C.3")
        plain.add(
            "the examples without Huffman's code are understood",
            requests(
                "828684410f7777772e6578616d706c652e636f6d",
                "828684be58086e6f2d6361636865",
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565"
            ),
            expect: .ok(1, 3, 5)
        )
        var coded = CaseTable("7541 C.4")
        coded.add(
            "the examples with Huffman's code are understood",
            requests(
                "828684418cf1e3c2e5f23a6ba0ab90f4ff",
                "828684be5886a8eb10649cbf",
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"
            ),
            expect: .ok(1, 3, 5)
        )
        return plain.cases + coded.cases
    }

    private static func bytes(of hexadecimal: String) -> [UInt8] {
        var digits = hexadecimal[...]
        var bytes: [UInt8] = []
        while !digits.isEmpty {
            bytes.append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
        return bytes
    }
}
