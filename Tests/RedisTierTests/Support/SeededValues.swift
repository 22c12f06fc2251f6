import HoldfastTesting
import NIOCore
import RedisTier

/// Values and cuts that are the same for the same seed.
struct SeededValues {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func value(depth: Int) -> RESPValue {
        switch Int.random(in: 0..<(depth > 0 ? 12 : 9), using: &random) {
        case 0: .simple(text(upTo: 40))
        case 1: .bulkString(bytes(upTo: 3000))
        case 2: .failed("ERR " + text(upTo: 40))
        case 3: .integer(Int64.random(in: .min ... .max, using: &random))
        case 4: .double(Double(Int64.random(in: -1_000_000_000...1_000_000_000, using: &random)) / 1024)
        case 5: .big("\(UInt64.random(in: 1 ... .max, using: &random))\(UInt64.random(in: 0 ... .max, using: &random))")
        case 6: .boolean(Bool.random(using: &random))
        case 7: .null
        case 8: .verbatimString(format: "txt", ByteBuffer(string: text(upTo: 100)))
        case 9: .array(values(depth))
        case 10: .set(values(depth))
        default: .map(values(depth).map { RESPEntry(key: $0, value: value(depth: 0)) })
        }
    }

    /// Pieces of 1 to 600 bytes.
    mutating func cut(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            pieces.append(rest.prefix(Int.random(in: 1...600, using: &random)))
            rest = rest.dropFirst(pieces.last?.count ?? 0)
        }
        return pieces
    }

    private mutating func values(_ depth: Int) -> [RESPValue] {
        (0..<Int.random(in: 0...5, using: &random)).map { _ in value(depth: depth - 1) }
    }

    private mutating func text(upTo limit: Int) -> String {
        String(
            decoding: (0..<Int.random(in: 0...limit, using: &random)).map { _ in
                UInt8.random(in: 32...126, using: &random)
            },
            as: UTF8.self
        )
    }

    private mutating func bytes(upTo limit: Int) -> ByteBuffer {
        ByteBuffer(
            bytes: (0..<Int.random(in: 0...limit, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
        )
    }
}
