import HTTPTypes
import NIOCore

@testable import HoldfastGateway

/// The result of a decoder, with adjacent content joined.
enum Decoded<Head: Hashable>: Hashable {
    case interim(Head)
    case head(Head)
    case content([UInt8])
    case end
    case refused(MessageRefusal)
}

/// A head and the parts that its own equality ignores: the order of the fields, the case of their
/// names, the reason phrase.
struct ExactHead<Head: Hashable>: Hashable {
    var head: Head
    var fields: [[UInt8]]
    var phrase = ""

    init(_ head: Head, _ fields: HTTPFields, phrase: String = "") {
        self.head = head
        self.fields = fields.map { field in
            field.rawNameBytes + [UInt8(ascii: ":")] + field.withUnsafeBytesOfValue { Array($0) }
        }
        self.phrase = phrase
    }

    /// The least length of the lines, without their ends.
    var fieldBytes: Int { fields.reduce(0) { $0 + $1.count } }
}

extension HTTPField {
    fileprivate var rawNameBytes: [UInt8] { Array(name.rawName.utf8) }
}

/// The common interface of the decoders of requests and responses.
protocol MessageDecoding {
    associatedtype Head: Hashable

    var undecodedCount: Int { get }
    mutating func append(_ bytes: ByteBuffer)
    mutating func closeInput()
    mutating func decoded() throws(MessageRefusal) -> Decoded<ExactHead<Head>>?
}

extension MessageDecoding {
    typealias Events = [Decoded<ExactHead<Head>>]

    /// Decodes bytes that arrive in these pieces; then the peer closes its side.
    func events(_ pieces: [ArraySlice<UInt8>], limits: MessageLimits) -> Events {
        var decoder = self
        var events = Events()
        // In a head and in framing the decoder keeps no more than a line may take.
        let most = max(limits.startLine, limits.fieldBlock, limits.chunkLine, limits.trailers)
        do throws(MessageRefusal) {
            for piece in pieces {
                decoder.append(ByteBuffer(bytes: piece))
                try decoder.drain(into: &events)
                require(
                    decoder.undecodedCount <= most || events.last == .end,
                    "\(decoder.undecodedCount) bytes wait for their line's end"
                )
            }
            decoder.closeInput()
            try decoder.drain(into: &events)
        } catch {
            events.append(.refused(error))
            decoder.append(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"))
            do throws(MessageRefusal) {
                let event = try decoder.decoded()
                require(false, "\(String(describing: event)) follows a refusal")
            } catch let again {
                require(again == error, "a refusal for \(error) becomes one for \(again)")
            }
        }
        return events
    }

    private mutating func drain(into events: inout Events) throws(MessageRefusal) {
        while let event = try decoded() {
            if case .content(let bytes) = event {
                require(!bytes.isEmpty, "content of no bytes is an event")
                if case .content(let before) = events.last {
                    events[events.count - 1] = .content(before + bytes)
                } else {
                    events.append(event)
                }
            } else {
                events.append(event)
            }
        }
    }

    /// Decodes bytes as a whole, one by one, and in pieces whose cuts depend on the bytes. All
    /// results must agree.
    func events(_ bytes: [UInt8], limits: MessageLimits) -> Events {
        let whole = events([bytes[...]], limits: limits)
        let single = events(bytes.indices.map { bytes[$0...$0] }, limits: limits)
        require(single == whole, "byte by byte \(single), whole \(whole)")
        let cut = events(bytes.cut(), limits: limits)
        require(cut == whole, "in pieces \(cut), whole \(whole)")
        return whole
    }
}

extension [UInt8] {
    /// Cuts the bytes into pieces of 1 to 32 bytes; a hash of all bytes decides where.
    func cut() -> [ArraySlice<UInt8>] {
        var state = reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var pieces: [ArraySlice<UInt8>] = []
        var rest = self[...]
        while !rest.isEmpty {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let piece = rest.prefix(1 + Int(state >> 59))
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }
}

extension MessageLimits {
    /// Limits that short inputs reach.
    static var narrow: MessageLimits {
        var limits = MessageLimits()
        limits.startLine = 40
        limits.fieldBlock = 120
        limits.fieldCount = 5
        limits.chunkLine = 12
        limits.chunkExtensions = 20
        limits.trailers = 30
        limits.interimResponses = 2
        return limits
    }

    /// Limits for messages that were written again: they may have longer lines, and an added
    /// `Host`.
    static var wide: MessageLimits {
        var limits = MessageLimits()
        limits.startLine *= 2
        limits.fieldBlock *= 2
        limits.fieldCount += 1
        return limits
    }
}

extension MessageRefusal {
    /// Whether a limit was exceeded.
    var isOfLimit: Bool {
        switch reason {
        case .startLineTooLong, .fieldsTooLarge, .chunkExtensionsTooLarge, .trailersTooLarge, .tooManyInterimResponses:
            true
        default: false
        }
    }
}
