import FleetTier
import HTTPCache
import NIOCore

/// Parses a server's replies about entries, epochs and rows. Other programs may write to the same
/// server, so data that this program would not have written is treated as unreadable or malformed.
enum LogReplies {
    /// Parses the reply to `XREAD` for one stream; returns no entries after a timeout.
    static func read(_ reply: RESPValue) throws(FleetLogError) -> [LogEntry] {
        let entries: RESPValue
        switch reply {
        case .null: return []
        case .map(let streams) where streams.count == 1: entries = streams[0].value
        // RESP2 sends an array.
        case .array(let streams):
            guard streams.count == 1, case .array(let pair) = streams[0], pair.count == 2 else {
                throw .malformed("entries")
            }
            entries = pair[1]
        default: throw .malformed("entries")
        }
        return try range(entries)
    }

    /// Parses the reply to `XRANGE`.
    static func range(_ reply: RESPValue) throws(FleetLogError) -> [LogEntry] {
        guard case .array(let elements) = reply else { throw .malformed("entries") }
        var entries: [LogEntry] = []
        entries.reserveCapacity(elements.count)
        for element in elements { entries.append(try entry(element)) }
        return entries
    }

    private static func entry(_ value: RESPValue) throws(FleetLogError) -> LogEntry {
        guard case .array(let pair) = value, pair.count == 2, let position = pair[0].text.flatMap({ LogPosition($0) })
        else { throw .malformed("an entry") }
        var fields: [String: ByteBuffer] = [:]
        for field in pair[1].entries ?? [] {
            guard let name = field.key.bytes, name.readableBytes == 1 else { continue }
            fields[String(buffer: name)] = field.value.bytes
        }
        let time = fields["t"].flatMap { LogPosition.number($0.readableBytesView) }.flatMap { Int64(exactly: $0) }
        return LogEntry(
            position: position,
            addedAt: EngineTime(milliseconds: time ?? 0),
            content: time == nil ? .unreadable : content(fields)
        )
    }

    private static func content(_ fields: [String: ByteBuffer]) -> LogContent {
        if let sealed = fields["p"] {
            guard fields["m"] == nil, sealed.readableBytes <= LogEntry.longestSealed else { return .unreadable }
            return .purge(Array(sealed.readableBytesView))
        }
        guard let name = fields["m"].flatMap({ EpochName(String(buffer: $0)) }), let inherited = fields["i"] else {
            return .unreadable
        }
        guard inherited.readableBytes > 0 else { return .marker(EpochMarker(name: name, inherited: nil)) }
        guard let position = LogPosition(String(buffer: inherited)) else { return .unreadable }
        return .marker(EpochMarker(name: name, inherited: position))
    }

    /// Parses the reply to ``RedisScript/peek``.
    static func peek(_ reply: RESPValue) throws(FleetLogError) -> (epoch: LogEpoch?, entry: LogEntry?) {
        guard case .array(let parts) = reply, parts.count == 3, let number = parts[0].text, let name = parts[1].text
        else { throw .malformed("the epoch") }
        let entry = try range(parts[2]).first
        return (number.isEmpty ? nil : try epoch(number, name), entry)
    }

    private static func epoch(_ number: String, _ name: String) throws(FleetLogError) -> LogEpoch {
        guard let number = LogPosition.number(number.utf8), let name = EpochName(name) else {
            throw .malformed("the epoch")
        }
        return LogEpoch(number: number, name: name)
    }

    /// Parses the reply to ``RedisScript/begin``.
    static func begin(_ reply: RESPValue) throws(FleetLogError) -> LogEpoch {
        let words = try words(reply)
        if words.count == 2, words[0] == "LOW", let highest = LogPosition.number(words[1].utf8) {
            throw .lowEpoch(highest)
        }
        guard words.count == 3, words[0] == "OK" else { throw .malformed("the epoch") }
        return try epoch(words[1], words[2])
    }

    /// Parses the reply of a script that writes in an epoch, and returns the words after `OK`.
    static func written(_ reply: RESPValue) throws(FleetLogError) -> [String] {
        let words = try words(reply)
        switch words.first {
        case "OK": return Array(words.dropFirst())
        case "EPOCH": throw .wrongEpoch
        default: throw .malformed("a script's reply")
        }
    }

    private static func words(_ reply: RESPValue) throws(FleetLogError) -> [String] {
        guard case .array(let parts) = reply else { throw .malformed("a script's reply") }
        let words = parts.compactMap(\.text)
        guard words.count == parts.count else { throw .malformed("a script's reply") }
        return words
    }

    /// Parses the reply to `TIME`.
    static func time(_ reply: RESPValue) throws(FleetLogError) -> EngineTime {
        guard case .array(let parts) = reply, parts.count == 2, let seconds = parts[0].text.flatMap({ Int64($0) }),
            let microseconds = parts[1].text.flatMap({ Int64($0) }), (0...1 << 40).contains(seconds),
            (0..<1_000_000).contains(microseconds)
        else { throw .malformed("the time") }
        return EngineTime(milliseconds: seconds * 1000 + microseconds / 1000)
    }

    /// Parses the rows in the reply to `HGETALL`.
    static func rows(_ reply: RESPValue) throws(FleetLogError) -> [NodeRow] {
        guard let entries = reply.entries else { throw .malformed("the rows") }
        return entries.compactMap { row($0) }.inOrder
    }

    private static func row(_ entry: RESPEntry) -> NodeRow? {
        guard let identity = entry.key.text.flatMap({ NodeIdentity($0) }), let text = entry.value.text,
            text.utf8.count <= 288,
            let space = text.lastIndex(of: " "),
            let seen = LogPosition.number(text[text.index(after: space)...].utf8).flatMap({ Int64(exactly: $0) }),
            let report = NodeReport(identity: identity, encoded: text[..<space])
        else { return nil }
        return NodeRow(report: report, seenAt: EngineTime(milliseconds: seen))
    }
}
