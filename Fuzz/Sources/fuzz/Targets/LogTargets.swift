import HTTPCache
import NIOCore

@testable import FleetTier
@testable import RedisTier

/// Sealed records, their content, and the texts beside them, as an engine that is not trusted has
/// them. A record that no node sealed does not open, and what is read is written the same way.
func logRecord(_ input: UnsafeBufferPointer<UInt8>) {
    let bytes = Array(input)
    guard let sealer = LogSealer.forFuzzing else { return require(false, "there is no sealer") }
    require((try? sealer.open(bytes)) == nil, "a record opens that no node sealed")
    if let id = SealedPurge.id(of: bytes) {
        require(id.bytes == Array(bytes[2..<18]), "\(id) is not the purge in the header")
        require(bytes.count <= SealedPurge.longest, "a record has \(bytes.count) bytes")
    }
    content(bytes, sealer)
    texts(String(decoding: bytes, as: UTF8.self))
}

private func content(_ bytes: [UInt8], _ sealer: LogSealer) {
    var random = CountingGenerator()
    guard let record = PurgeRecord(id: PurgeID(using: &random), content: bytes) else { return }
    require(record.content == bytes, "\(record) is written in another way than it was read")
    guard let sealed = try? sealer.seal(record, using: &random) else {
        return require(false, "\(record) cannot be sealed")
    }
    require((try? sealer.open(sealed)) == record, "\(record) does not open")
    require(SealedPurge.id(of: sealed) == record.id, "\(record) has another purge in its header")
    // Changed, cut and lengthened: the content says where.
    let place = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % sealed.count
    var changed = sealed
    changed[place] ^= UInt8(1 << (place % 8))
    for other in [changed, Array(sealed.prefix(place)), sealed + [0]] {
        require((try? sealer.open(other)) == nil, "a changed record opens")
    }
}

private func texts(_ text: String) {
    if let position = LogPosition(text) { require("\(position)" == text, "\(position) is read from '\(text)'") }
    if let name = EpochName(text) { require("\(name)" == text, "\(name) is read from '\(text)'") }
    if let name = NodeName(text) { require(name.text == text && text.utf8.count <= 64, "\(name)") }
    if let identity = NodeIdentity(text) { require("\(identity)" == text, "\(identity) is read from '\(text)'") }
    let identity = NodeIdentity(store: .random(), process: 1)
    if let report = NodeReport(identity: identity, encoded: text) {
        require(report.encoded == text, "\(report.encoded) is read from '\(text)'")
    }
}

/// Replies to the commands of a fleet log. Those of any form are read or rejected, and only
/// canonical positions come out.
func logReplies(_ input: UnsafeBufferPointer<UInt8>) {
    var parser = RESPParser()
    parser.append(ByteBuffer(bytes: Array(input)))
    while case .reply(let reply)? = try? parser.next() {
        for entries in [try? LogReplies.read(reply), try? LogReplies.range(reply)] {
            for entry in entries ?? [] {
                require(entry.addedAt.milliseconds >= 0, "an entry is from \(entry.addedAt)")
                require(LogPosition("\(entry.position)") == entry.position, "\(entry.position)")
                guard case .purge(let sealed) = entry.content else { continue }
                require(sealed.count <= LogEntry.longestSealed, "a record has \(sealed.count) bytes")
            }
        }
        _ = try? LogReplies.peek(reply)
        do throws(FleetLogError) {
            _ = try LogReplies.begin(reply)
        } catch {
            switch error {
            case .malformed, .lowEpoch: break
            default: require(false, "\(error)")
            }
        }
        _ = try? LogReplies.written(reply)
        if let time = try? LogReplies.time(reply) { require(time.milliseconds >= 0, "the time is \(time)") }
        if let rows = try? LogReplies.rows(reply) {
            let names = rows.map(\.report.name)
            require(names == names.sorted(), "\(names) are not in order")
        }
    }
}

/// Numbers that are the same in each run.
private struct CountingGenerator: RandomNumberGenerator {
    private var count: UInt64 = 0

    mutating func next() -> UInt64 {
        count += 1
        return count &* 0x9E37_79B9_7F4A_7C15
    }
}

extension LogSealer {
    fileprivate static let forFuzzing: LogSealer? = {
        guard let keys = FleetKeys(secret: [UInt8](repeating: 7, count: 32)),
            let namespace = FleetNamespace("fuzz")
        else { return nil }
        return LogSealer(keys: keys, namespace: namespace)
    }()
}
