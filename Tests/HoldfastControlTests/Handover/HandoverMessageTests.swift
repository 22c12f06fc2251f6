import Testing

@testable import HoldfastControl

@Suite(.timeLimit(.minutes(20))) struct HandoverMessageTests {
    static let offer = HandoverOffer(
        listeners: [
            .init(configured: "localhost:0", address: "127.0.0.1:40961", socketCount: 2, hasLock: false),
            .init(configured: "unix:/run/h.sock", address: "unix:/run/h.sock", socketCount: 1, hasLock: true),
        ],
        freed: ["127.0.0.1:9090"],
        drainMilliseconds: 10_000
    )
    static let messages: [HandoverMessage] = [
        .hello, .offer(offer), .descriptors(128), .ready, .failed("The port is in use."), .refused("Stopping – soon."),
        .released,
    ]

    private func bytes(_ message: HandoverMessage) throws -> ArraySlice<UInt8> { try #require(message.bytes)[...] }

    @Test(arguments: messages) func readsWhatItWrites(_ message: HandoverMessage) throws {
        var bytes = try bytes(message) + bytes(.ready)
        let taken = try [HandoverMessage.take(from: &bytes), HandoverMessage.take(from: &bytes)]
        #expect(taken == [message, .ready] && bytes.isEmpty)
    }

    @Test(arguments: messages) func waitsForTheRestOfAMessageThatIsCutAnywhere(_ message: HandoverMessage) throws {
        let whole = try bytes(message)
        for count in 0..<whole.count {
            var part = whole.prefix(count)
            let early = try HandoverMessage.take(from: &part)
            #expect(early == nil && part == whole.prefix(count))
            part += whole.dropFirst(count)
            let late = try HandoverMessage.take(from: &part)
            #expect(late == message)
        }
    }

    @Test(arguments: messages) func rejectsContentThatIsCutOrTooLong(_ message: HandoverMessage) throws {
        let whole = Array(try bytes(message))
        let content = whole.count - 8
        // A reason may have any length.
        switch message {
        case .failed, .refused: return
        default: break
        }
        for length in Array(0..<content) + [content + 1] {
            var changed = Array(whole.prefix(8 + length)) + Array(repeating: 0, count: max(0, length - content))
            (changed[6], changed[7]) = (UInt8(length >> 8), UInt8(length & 0xFF))
            var bytes = changed[...]
            #expect(throws: HandoverWireError.content) { try HandoverMessage.take(from: &bytes) }
        }
    }

    @Test func rejectsOtherVersionsExceptTheirRefusal() throws {
        var hello = try bytes(.hello)
        hello[4] = 2
        let error = #expect(throws: HandoverWireError.version(2)) { try HandoverMessage.take(from: &hello) }
        #expect(error?.description.contains("'--takeover'") == true)
        var refused = try bytes(.refused("Too old."))
        refused[4] = 2
        let refusal = try HandoverMessage.take(from: &refused)
        #expect(refusal == .refused("Too old."))
    }

    @Test func rejectsBytesThatAreNoMessageAtTheFirstWrongOne() {
        for text in ["GET / HTTP/1.1\r\n", "H ", "HFH0", "HFX"] {
            var bytes = Array(text.utf8)[...]
            #expect(throws: HandoverWireError.garbage) { try HandoverMessage.take(from: &bytes) }
        }
        var kind: ArraySlice<UInt8> = [0x48, 0x46, 0x48, 0x4F, 1, 99, 0, 0]
        #expect(throws: HandoverWireError.kind(99)) { try HandoverMessage.take(from: &kind) }
        var long: ArraySlice<UInt8> = [0x48, 0x46, 0x48, 0x4F, 1, 2, 0xFF, 0xFF]
        #expect(throws: HandoverWireError.tooLong(0xFFFF)) { try HandoverMessage.take(from: &long) }
    }

    @Test func limitsOffersAndReasons() throws {
        var offer = Self.offer
        offer.listeners[0].socketCount = UInt16(HandoverLimits.sockets)
        #expect(HandoverMessage.offer(offer).bytes == nil)
        offer = Self.offer
        offer.listeners[0].address = String(repeating: "a", count: 256)
        #expect(HandoverMessage.offer(offer).bytes == nil)
        offer.listeners = []
        #expect(HandoverMessage.offer(offer).bytes == nil)
        offer.listeners = Array(repeating: Self.offer.listeners[0], count: 17)
        #expect(HandoverMessage.offer(offer).bytes == nil)

        var reason = try bytes(.failed(String(repeating: "é", count: 600)))
        let cut = try HandoverMessage.take(from: &reason)
        #expect(cut == .failed(String(repeating: "é", count: 512)))
    }

    @Test func rejectsTextThatIsNotUTF8() throws {
        var reason = try bytes(.failed("abc"))
        reason[9] = 0xFF
        #expect(throws: HandoverWireError.content) { try HandoverMessage.take(from: &reason) }
    }
}
