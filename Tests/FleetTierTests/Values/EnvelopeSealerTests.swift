import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct EnvelopeSealerTests {
    private typealias Bench = ResponseBench

    /// All of a draft but its pin.
    private func expectSame(_ draft: ResponseDraft, _ other: ResponseDraft, length: Int) {
        #expect(draft.key == other.key && draft.tags == other.tags && draft.head == other.head)
        #expect(draft.freshUntil == other.freshUntil && draft.storedAt == other.storedAt)
        #expect(draft.isUsableStale == other.isUsableStale && !draft.isPinned)
        #expect(draft.expectedLength == StatedLength(clamping: length))
    }

    @Test func responseOpensAsItWasSealed() throws {
        let bench = try Bench()
        let chunked = ChunkedBody(id: BodyID(bits: .max), length: 200_000, digest: [UInt8](repeating: 3, count: 32))
        for body in [.inline(bench.body), .inline(ByteBuffer()), .chunks(chunked)] as [ResponseEnvelope.Body] {
            let envelope = try bench.opened(bench.sealed(bench.envelope(body)))
            #expect(
                envelope.fencingPosition == bench.fencingPosition && envelope.body == body && envelope.key == bench.key
            )
            #expect(envelope.respondedAt.milliseconds == Bench.now.milliseconds)
            let later = Bench.now.adding(milliseconds: 1000)
            let draft = envelope.draft(at: later, EngineOffset(milliseconds: 0))
            expectSame(draft, bench.draft(), length: body.length)
        }
    }

    @Test func headsOfAllKindsOpenAsTheyWereSealed() throws {
        let bench = try Bench()
        let changes: [(inout StoredResponseHead) -> Void] = [
            { $0.explicitExpiry = nil }, { $0.explicitExpiry = .distantFuture }, { $0.fields = [:] },
            { $0.selectingFields = [:] }, { $0.requestMethod = .query }, { $0.isInvalidated = true },
            { $0.status = .init(code: 404, reasonPhrase: "") },
            { $0.sharingBasis = .directives }, { $0.sharingBasis = .unrecorded },
            { $0.fields.append(HTTPField(name: .server, lenientValue: [0x80, 0xFF, 0x20, 0xC3])) },
        ]
        for change in changes {
            let envelope = try bench.opened(bench.sealed(bench.envelope(nil, change)))
            let draft = envelope.draft(at: Bench.now, EngineOffset(milliseconds: 0))
            #expect(draft.head == bench.draft(change).head)
        }
    }

    @Test func changeOfAnyByteIsNoticed() throws {
        let bench = try Bench()
        let bytes = try bench.sealed()
        for index in 0..<bytes.readableBytes {
            for bit in [UInt8(1), 128] {
                let fault = bench.fault(bytes.flipped(index, bit))
                switch index {
                // The magic word, the version, unknown kinds, the zero.
                case 0..<5, 7: #expect(fault == .malformed, "byte \(index)")
                case 5: #expect(fault == (bit == 1 ? .forged : .malformed))
                case 6: #expect(fault == .unknownKey)
                // A time with its highest bit is none.
                case 8 where bit == 128: #expect(fault == .malformed)
                default: #expect(fault == .forged, "byte \(index)")
                }
            }
        }
    }

    @Test func cutOrLengthenedValuesDoNotOpen() throws {
        let bench = try Bench()
        let bytes = try bench.sealed()
        for count in 0..<bytes.readableBytes {
            #expect(bench.fault(try #require(bytes.getSlice(at: 0, length: count))) != nil, "\(count) bytes")
        }
        for count in [1, EnvelopeSealer.longest] {
            var longer = bytes
            longer.writeRepeatingByte(0, count: count)
            #expect(bench.fault(longer) == (count == 1 ? .forged : .malformed))
        }
    }

    @Test func valueOpensUnderItsNameAlone() throws {
        let bench = try Bench()
        let bytes = try bench.sealed()
        let other = try Bench(path: "/other")
        #expect(bench.fault(bytes, as: other.names.envelope, for: other.key) == .forged)
        #expect(bench.fault(bytes, as: bench.names.lease) == .forged)
        #expect(bench.fault(bytes, as: bench.names.variant(["accept"], [:])) == .forged)
        #expect(try Bench(namespace: "shop-2").fault(bytes) == .forged)
        // A name that belongs to another key, as by a collision of digests.
        #expect(bench.fault(bytes, for: other.key) == .forged)
    }

    @Test func chunkIsNoEnvelope() throws {
        let bench = try Bench()
        let (chunks, body) = try bench.chunks(Bench.bytes(70_000))
        #expect(bench.fault(chunks[0].bytes, as: chunks[0].name) == .malformed)
        #expect(bench.chunkFault([try bench.sealed()], body) == .malformed)
    }

    @Test func recordOfTheLogIsSealedWithAnotherKey() throws {
        let bench = try Bench()
        #expect(bench.keys.present.log != bench.keys.present.responses)
        #expect(bench.keys.present.log != bench.keys.present.names)
        #expect(bench.keys.present.responses != bench.keys.present.names)
    }

    @Test func previousSecretOpensAndDoesNotSeal() throws {
        let old = try Bench(Bench.secret)
        let new = try Bench(Bench.otherSecret, previous: Bench.secret)
        let namespace = try #require(FleetNamespace("shop"))
        let previous = try #require(ValueNamer(keys: new.keys, namespace: namespace).previousNames(of: new.key))
        #expect(previous.envelope == old.names.envelope && previous.envelope != new.names.envelope)
        #expect(try new.opened(old.sealed(), as: previous.envelope).key == old.key)
        #expect(try new.sealed() == Bench(Bench.otherSecret).sealed())
        #expect(old.fault(try new.sealed(), as: new.names.envelope) == .unknownKey)
        let (chunks, body) = try old.chunks(Bench.bytes(70_000))
        var opener = ChunkOpener(keys: new.keys, names: previous, body: body)
        for chunk in chunks { _ = try opener.open(chunk.bytes) }
        try opener.finish()
        #expect(ValueNamer(keys: old.keys, namespace: namespace).previousNames(of: old.key) == nil)
    }

    @Test func nothingOfAResponseIsReadable() throws {
        let bench = try Bench()
        let (chunks, _) = try bench.chunks(ByteBuffer(string: String(repeating: "a-secret-body", count: 6000)))
        let list = try #require(
            VaryList(key: bench.key, names: ["x-secret-field"], respondedAt: bench.envelope().respondedAt)
        )
        var random = SeededRandom(seed: 1)
        let variant = bench.names.variant(
            ["x-secret-field"],
            [try #require(HTTPField.Name("x-secret-field")): "secret-value"]
        )
        let texts =
            [bench.names.envelope.text, bench.names.lease.text, variant.text] + chunks.map(\.name.text)
            + [
                String(buffer: try bench.sealed()),
                String(buffer: try bench.sealer.seal(list, as: bench.names.envelope, using: &random)),
            ] + chunks.map { String(buffer: $0.bytes) }
        for text in texts {
            for word in ["secret", "origin.example", "private-page", "news", "gzip", "max-age", "GET"] {
                #expect(!text.contains(word))
            }
        }
    }

    @Test func equalResponsesAreSealedDifferently() throws {
        let bench = try Bench()
        let (one, another) = (try bench.sealed(seed: 1), try bench.sealed(seed: 2))
        #expect(one.readableBytesView.prefix(32).elementsEqual(another.readableBytesView.prefix(32)))
        // The nonce has all of its bytes.
        let nonces = [one, another].map { Array($0.readableBytesView.dropFirst(32).prefix(12)) }
        #expect(zip(nonces[0], nonces[1]).allSatisfy { $0 != $1 })
    }

    @Test func headerIsReadableWithoutAKey() throws {
        let bench = try Bench()
        let header = try #require(ValueHeader(try bench.sealed()))
        #expect(header.kind == .response && header.fencingPosition == bench.fencingPosition)
        #expect(header.respondedAt.milliseconds == Bench.now.milliseconds)
        // The order of puts is that of their bytes.
        let later = try bench.sealed(bench.envelope { $0.responseTime = Bench.now.adding(milliseconds: 1) })
        #expect(try bench.sealed().readableBytesView[8..<16].lexicographicallyPrecedes(later.readableBytesView[8..<16]))
        let old = try bench.sealed(bench.envelope { $0.responseTime = Timestamp(milliseconds: -5) })
        #expect(try #require(ValueHeader(old)).respondedAt.milliseconds == 0 && bench.fault(old) == nil)
    }

    // MARK: Limits

    private func error(_ bench: Bench, _ envelope: ResponseEnvelope) -> FleetLogError? {
        do {
            _ = try bench.sealed(envelope)
            return nil
        } catch {
            return error as? FleetLogError
        }
    }

    @Test func longestPartsAreSealedAndLongerOnesAreNot() throws {
        let bench = try Bench()
        let tag = String(repeating: "t", count: ResponseDraft.maximumTagLength)
        let tags = [String](repeating: tag, count: ResponseDraft.maximumTagCount)
        let body = ResponseEnvelope.Body.inline(ByteBuffer(repeating: 1, count: ValueLimits.chunkLength))
        let rest = HeadCodec.encode(bench.draft { $0.fields = [.server: ""] }.head).count
        let longest = bench.envelope(body, tags: tags) {
            $0.fields = [.server: String(repeating: "s", count: EnvelopeSealer.longestHead - rest)]
        }
        let sealed = try bench.sealed(longest)
        #expect(bench.fault(sealed) == nil && sealed.readableBytes <= ValueLimits.longestValue)
        let longHead = bench.envelope {
            $0.fields = [.server: String(repeating: "s", count: EnvelopeSealer.longestHead - rest + 1)]
        }
        let digest = [UInt8](repeating: 0, count: 32)
        let large = ChunkedBody(id: BodyID(bits: 1), length: (8 << 20) + 1, digest: digest)
        let small = ChunkedBody(id: BodyID(bits: 1), length: ValueLimits.chunkLength, digest: digest)
        #expect(error(bench, longHead) == .limit("head"))
        #expect(error(bench, bench.envelope(tags: tags + ["t"])) == .limit("tags"))
        #expect(error(bench, bench.envelope(tags: [tag + "t"])) == .limit("tags"))
        #expect(
            error(bench, bench.envelope(.inline(ByteBuffer(repeating: 1, count: ValueLimits.chunkLength + 1))))
                == .limit("body")
        )
        #expect(error(bench, bench.envelope(.chunks(large))) == .limit("body"))
        #expect(error(bench, bench.envelope(.chunks(small))) == .limit("body"))
    }

    @Test func largerBodyThanHereIsNotOpened() throws {
        let bench = try Bench()
        let body = ChunkedBody(id: BodyID(bits: 1), length: 70_000, digest: [UInt8](repeating: 0, count: 32))
        let bytes = try bench.sealed(bench.envelope(.chunks(body)))
        let small = EnvelopeSealer(keys: bench.keys, largestBody: 69_999)
        #expect(throws: SealFault.malformed) { try small.open(bytes, as: bench.names.envelope, for: bench.key) }
        let enough = EnvelopeSealer(keys: bench.keys, largestBody: 70_000)
        _ = try enough.open(bytes, as: bench.names.envelope, for: bench.key)
    }

    /// Only a node of the fleet makes these; it is of another version, or it is mad.
    @Test func lengthsThatLieAreMalformed() throws {
        let bench = try Bench()
        let header = try #require(ValueHeader(try bench.sealed()))
        let content = try bench.envelope().encoded()
        #expect(ResponseEnvelope(content, header) != nil)
        for count in 0..<content.count { #expect(ResponseEnvelope(Array(content[..<count]), header) == nil) }
        #expect(ResponseEnvelope(content + [0], header) == nil)
        // Each word of four bytes as the longest of lengths: none traps, and a length is found out.
        for index in 0..<(content.count - 4) {
            var changed = content
            changed.replaceSubrange(index..<(index + 4), with: [255, 255, 255, 255])
            _ = ResponseEnvelope(changed, header)
        }
        var tags = content
        tags.replaceSubrange(0..<4, with: [255, 255, 255, 127])
        #expect(ResponseEnvelope(tags, header) == nil)
        var later = header
        later.respondedAt = EngineTime(milliseconds: header.respondedAt.milliseconds + 1)
        #expect(ResponseEnvelope(content, later) == nil)
        // A count of chunks that does not go with the length.
        let body = ChunkedBody(id: BodyID(bits: 1), length: 200_000, digest: [UInt8](repeating: 0, count: 32))
        var chunked = try bench.envelope(.chunks(body)).encoded()
        let kind = ValueHeader(
            kind: .chunkedResponse,
            keyID: header.keyID,
            respondedAt: header.respondedAt,
            fencingPosition: header.fencingPosition
        )
        #expect(ResponseEnvelope(chunked, kind) != nil && ResponseEnvelope(chunked, header) == nil)
        chunked[chunked.count - 36 - 8 - 4] ^= 1
        #expect(ResponseEnvelope(chunked, kind) == nil)
    }

    // MARK: Lists of names

    @Test func listOpensAsItWasSealed() throws {
        let bench = try Bench()
        var random = SeededRandom(seed: 1)
        var list = try #require(
            VaryList(key: bench.key, names: ["b", "a", "b"], respondedAt: EngineTime(milliseconds: 9))
        )
        list.add(try #require(VaryList(key: bench.key, names: ["c"], respondedAt: EngineTime(milliseconds: 11))))
        list.add(try #require(VaryList(key: bench.key, names: ["a", "b"], respondedAt: EngineTime(milliseconds: 7))))
        #expect(list.lists == [["a", "b"], ["c"]] && list.respondedAt.milliseconds == 11)
        let bytes = try bench.sealer.seal(list, as: bench.names.envelope, using: &random)
        guard case .varyList(let opened) = try bench.sealer.open(bytes, as: bench.names.envelope, for: bench.key) else {
            Issue.record("it is no list")
            return
        }
        #expect(opened == list)
        for index in 0..<bytes.readableBytes { #expect(bench.fault(bytes.flipped(index)) != nil) }
        let header = try #require(ValueHeader(bytes))
        for count in 0..<list.encoded.count { #expect(VaryList(Array(list.encoded[..<count]), header) == nil) }
        let other = try Bench(path: "/other")
        #expect(bench.fault(bytes, for: other.key) == .forged)
    }

    @Test func listsHaveLimits() throws {
        let key = try Bench.key("/")
        let time = EngineTime(milliseconds: 1)
        let names = (0..<VaryList.mostNames).map { "name-\($0)" }
        var list = try #require(VaryList(key: key, names: names, respondedAt: time))
        #expect(VaryList(key: key, names: names + ["more"], respondedAt: time) == nil)
        #expect(VaryList(key: key, names: [], respondedAt: time) == nil)
        #expect(VaryList(key: key, names: [""], respondedAt: time) == nil)
        let long = String(repeating: "n", count: VaryList.longestName)
        #expect(VaryList(key: key, names: [long], respondedAt: time) != nil)
        #expect(VaryList(key: key, names: [long + "n"], respondedAt: time) == nil)
        for number in 0..<20 {
            var next = try #require(VaryList(key: key, names: ["only-\(number)"], respondedAt: time))
            next.add(list)
            list = next
        }
        #expect(list.lists.count == VaryList.mostLists && list.lists[0] == ["only-19"] && list.lists[15] == ["only-4"])
    }
}
