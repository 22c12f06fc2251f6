import HTTPCacheSemantics
import HTTPTypes
import StoreFiles
import Testing

@Suite(.timeLimit(.minutes(20))) struct StoredHeadCodecTests {
    private static let binding = HeadBinding(entryID: 7, keyHash: -3, bodyID: 7, bodyLength: 12)

    private static func head() throws -> StoredResponseHead {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .eTag, value: "\"x\""))
        fields.append(HTTPField(name: try #require(HTTPField.Name("X-Two")), value: "1"))
        fields.append(HTTPField(name: .cacheControl, value: "max-age=5"))
        fields.append(HTTPField(name: try #require(HTTPField.Name("x-two")), lenientValue: [0xff, 0x41, 0xfe]))
        fields.append(HTTPField(name: try #require(HTTPField.Name("X-Empty")), value: ""))
        return StoredResponseHead(
            requestMethod: .get,
            selectingFields: [.acceptLanguage: "de"],
            status: HTTPResponse.Status(code: 299, reasonPhrase: "Quite"),
            fields: fields,
            requestTime: Timestamp(milliseconds: -5),
            responseTime: .distantFuture,
            explicitExpiry: Timestamp(milliseconds: 99),
            isInvalidated: true
        )
    }

    @Test func headRoundTrips() throws {
        let head = try Self.head()
        let decoded = try #require(
            StoredHeadCodec.decode(StoredHeadCodec.encode(head, binding: Self.binding), binding: Self.binding)
        )
        #expect(decoded == head)
        #expect(decoded.fields.map(\.name.rawName) == ["ETag", "X-Two", "Cache-Control", "x-two", "X-Empty"])
        #expect(decoded.status.reasonPhrase == "Quite")
        #expect(Array(decoded.fields)[3].withUnsafeBytesOfValue { Array($0) } == [0xff, 0x41, 0xfe])
    }

    /// An earlier program wrote neither flag, and this one keeps that nothing is known.
    @Test(arguments: SharingBasis.allCases) func sharingBasisRoundTrips(_ basis: SharingBasis) throws {
        var head = try Self.head()
        head.sharingBasis = basis
        let bytes = StoredHeadCodec.encode(head, binding: Self.binding)
        #expect(StoredHeadCodec.decode(bytes, binding: Self.binding) == head)
        #expect(bytes[2] & 12 == [SharingBasis.noCredentials: 4, .directives: 12, .unrecorded: 0][basis])
    }

    /// Plain text values take a shorter path than others.
    @Test(arguments: [
        "", "x", "12345678", "text/html; charset=utf-8", " leading", "trailing ", "\ttab", "in\tside", "del\u{7f}",
        "f\u{fc}r", "\u{1}\u{2}34567890",
    ])
    func valueRoundTripsByteByByte(_ value: String) throws {
        var head = try Self.head()
        head.fields = HTTPFields([HTTPField(name: .server, lenientValue: Array(value.utf8))])
        let decoded = try #require(
            StoredHeadCodec.decode(StoredHeadCodec.encode(head, binding: Self.binding), binding: Self.binding)
        )
        #expect(decoded.fields.count == 1)
        #expect(decoded.fields.first?.withUnsafeBytesOfValue { Array($0) } == Array(value.utf8))
        #expect(decoded == head)
        #expect(decoded.hashValue == head.hashValue)
    }

    /// Values are checked eight bytes at a time. The test compares bytes, because equal fields may
    /// differ in bytes that are not UTF-8.
    @Test(arguments: UInt8.min ... .max)
    func byteKeepsItsValueAtEveryPosition(_ byte: UInt8) throws {
        var head = try Self.head()
        var fields = HTTPFields()
        for length in [1, 7, 8, 9, 17] {
            for run in 1...length {
                for start in 0...length - run {
                    var value = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    value.replaceSubrange(start..<start + run, with: repeatElement(byte, count: run))
                    fields.append(HTTPField(name: .server, lenientValue: value))
                }
            }
        }
        head.fields = fields
        let decoded = try #require(
            StoredHeadCodec.decode(StoredHeadCodec.encode(head, binding: Self.binding), binding: Self.binding)
        )
        #expect(Self.values(decoded.fields) == Self.values(fields))
    }

    private static func values(_ fields: HTTPFields) -> [[UInt8]] {
        fields.map { $0.withUnsafeBytesOfValue { Array($0) } }
    }

    @Test(arguments: ["content-type", "Content-Type", "CONTENT-TYPE", "eTag", "X-Frame-Options", "x-unheard-of", "a"])
    func nameKeepsItsSpelling(_ rawName: String) throws {
        var head = try Self.head()
        head.fields = [try #require(HTTPField.Name(rawName)): "1"]
        let decoded = try #require(
            StoredHeadCodec.decode(StoredHeadCodec.encode(head, binding: Self.binding), binding: Self.binding)
        )
        #expect(decoded.fields.first?.name.rawName == rawName)
        #expect(decoded.fields.first?.name.canonicalName == rawName.lowercased())
    }

    /// Fields are decoded when they are read; whether they can be decoded is known before.
    @Test func invalidNameIsDetectedAtOnce() throws {
        let head = try Self.head()
        var content = Array(StoredHeadCodec.encode(head, binding: Self.binding).dropLast(8))
        let name = try #require(content.indices.first { Array(content[$0...].prefix(5)) == Array("X-Two".utf8) })
        content[name + 1] = UInt8(ascii: " ")
        #expect(StoredHeadCodec.decode(Self.sealed(content), binding: Self.binding) == nil)
    }

    @Test func copyOfAHeadChangesIndependently() throws {
        let head = try Self.head()
        let decoded = try #require(
            StoredHeadCodec.decode(StoredHeadCodec.encode(head, binding: Self.binding), binding: Self.binding)
        )
        var other = decoded
        other.fields[.age] = "7"
        #expect(decoded == head)
        #expect(other.fields[.age] == "7")
        #expect(other != decoded)
    }

    @Test func everyFlippedBitIsDetected() throws {
        var bytes = StoredHeadCodec.encode(try Self.head(), binding: Self.binding)
        for bit in 0..<bytes.count * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8)
            #expect(StoredHeadCodec.decode(bytes, binding: Self.binding) == nil)
            bytes[bit / 8] ^= 1 << (bit % 8)
        }
    }

    @Test func everyTruncationIsDetected() throws {
        let bytes = StoredHeadCodec.encode(try Self.head(), binding: Self.binding)
        for count in 0..<bytes.count {
            #expect(StoredHeadCodec.decode(Array(bytes[..<count]), binding: Self.binding) == nil)
        }
    }

    @Test func headOfAnotherRowIsRejected() throws {
        let bytes = StoredHeadCodec.encode(try Self.head(), binding: Self.binding)
        for change in [\HeadBinding.entryID, \.keyHash, \.bodyID, \.bodyLength] {
            var other = Self.binding
            other[keyPath: change] += 1
            #expect(StoredHeadCodec.decode(bytes, binding: other) == nil)
        }
    }

    /// Garbage with a correct checksum reaches the decoder itself.
    @Test func garbageNeverTraps() throws {
        var generator = SeededGenerator(seed: 42)
        let whole = StoredHeadCodec.encode(try Self.head(), binding: Self.binding)
        for round in 0..<4000 {
            var content = Array(whole.dropLast(8))
            if round % 2 == 0 {
                content = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                    .random(in: .min ... .max, using: &generator)
                }
                if content.count > 2 { content.replaceSubrange(0..<2, with: [StoredHeadCodec.version, 0]) }
            } else {
                for _ in 0..<3 {
                    content[Int.random(in: content.indices, using: &generator)] = .random(
                        in: .min ... .max,
                        using: &generator
                    )
                }
            }
            let sealed = Self.sealed(content)
            if let head = StoredHeadCodec.decode(sealed, binding: Self.binding) {
                #expect(
                    StoredHeadCodec.decode(StoredHeadCodec.encode(head, binding: Self.binding), binding: Self.binding)
                        == head
                )
            }
        }
    }

    private static func sealed(_ content: [UInt8]) -> [UInt8] {
        let place = [binding.entryID, binding.keyHash, binding.bodyID, binding.bodyLength]
        let seed = XXHash64.hash(place.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } })
        let checksum = XXHash64.hash(content, seed: seed)
        return content + withUnsafeBytes(of: checksum.littleEndian) { Array($0) }
    }

    @Test func variantsDifferByNamesAndValues() {
        func variant(_ vary: String, _ selecting: HTTPFields) -> [UInt8] {
            VariantKey.bytes(
                of: StoredResponseHead(
                    selectingFields: selecting,
                    status: .ok,
                    fields: [.vary: vary],
                    requestTime: .distantPast,
                    responseTime: .distantPast
                )
            )
        }
        #expect(
            variant("Accept, Accept-Language", [.accept: "a"]) == variant("accept-language ,accept", [.accept: "a"])
        )
        #expect(variant("Accept", [.accept: "a"]) != variant("Accept", [.accept: "b"]))
        #expect(variant("Accept", [:]) != variant("Accept", [.accept: ""]))
        #expect(variant("Accept", [.accept: "a"]) != variant("Accept, Cookie", [.accept: "a"]))
        #expect(
            VariantKey.bytes(
                of: StoredResponseHead(status: .ok, fields: [:], requestTime: .distantPast, responseTime: .distantPast)
            ) == []
        )
    }
}
