import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

extension RelayedMessage {
    /// Facts collected while reading a head's lines.
    struct Reading {
        var status = 0
        var length: StatedLength?
        var hasDate = false
        var hasReferences = false
        var mediaType: Range<Int>?
        var connection = ConnectionOptions()
        var runs = Runs()
        private var isUnstorable: Bool?

        /// Reads the lines of a head.
        ///
        /// - Parameters:
        ///   - lines: the lines, including their line ends.
        ///   - limit: the maximum number of lines.
        /// - Returns: whether the response can be relayed: each line can be, there are not too
        ///   many, and `Cache-Control` forbids storing.
        mutating func read(_ lines: UnsafeRawBufferPointer, count limit: Int) -> Bool {
            var (start, count) = (0, 0)
            while start < lines.count {
                guard let end = lines.firstIndex(of: .lineFeed, from: start), end > start,
                    lines[end - 1] == .carriageReturn
                else { return false }
                let line = lines.part(start..<(end - 1))
                guard let passes = count == 0 ? readStatusLine(line) : readField(line, at: start),
                    !passes || runs.append(start..<(end + 1))
                else { return false }
                start = end + 1
                count += 1
            }
            return count <= limit && isUnstorable == true && !connection.namesFields
        }

        /// Reads the first line.
        ///
        /// - Returns: `true`; `nil` if the line is not the status line of a final response with
        ///   content and an ASCII phrase.
        private mutating func readStatusLine(_ line: UnsafeRawBufferPointer) -> Bool? {
            guard line.count > 13, line.starts(with: "HTTP/1.1 ".utf8), line.part(9..<12).allSatisfy(\.isDigit),
                line[12] == .space, line.part(13..<line.count).allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
            else { return nil }
            status = line.part(9..<12).reduce(0) { $0 * 10 + Int($1 &- 0x30) }
            switch status {
            case 204, 206, 304: return nil
            case 200..<600: return true
            default: return nil
            }
        }

        /// Reads a field line.
        ///
        /// - Parameter start: the position of the line.
        /// - Returns: whether the line is relayed; `nil` if the response cannot be relayed, or if
        ///   the gateway would write the line differently.
        private mutating func readField(_ line: UnsafeRawBufferPointer, at start: Int) -> Bool? {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":"), from: 0), colon + 2 < line.count,
                line[colon + 1] == .space, !line[colon + 2].isWhitespace, !line[line.count - 1].isWhitespace,
                let name = FieldNameTable.name(line.part(0..<colon))?.canonicalName
            else { return nil }
            let value = line.part((colon + 2)..<line.count)
            guard value.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return nil }
            switch name.utf8.count {
            case 4 where name == "date":
                hasDate = true
            case 10 where name == "connection":
                value.withMemoryRebound(to: UInt8.self) { connection.add($0) }
                return false
            case 10 where name == "keep-alive":
                return false
            case 12 where name == "cache-status":
                return nil
            case 12 where name == "content-type":
                mediaType = (start + colon + 2)..<(start + line.count)
            case 13 where name == "cache-control":
                guard isUnstorable == nil else { return nil }
                isUnstorable = value.withMemoryRebound(to: UInt8.self) {
                    CachePolicy.forbidsStoring(cacheControl: $0)
                }
            case 14 where name == "content-length":
                guard length == nil, let stated = value.withMemoryRebound(to: UInt8.self, { Framing.length($0) })
                else { return nil }
                length = stated
                return false
            case 14... where name.utf8.suffix(14).elementsEqual(CachePolicy.targetedSuffix.utf8):
                return nil
            default:
                if FieldRules.isHopByHop(name) { return nil }
                if ReferenceFields.contains(name) { hasReferences = true }
            }
            return true
        }
    }
}
