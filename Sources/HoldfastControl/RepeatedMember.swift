import Foundation

/// Finds a member that an object of a JSON text has twice. Readers of JSON take one of them, and
/// not all take the same one, so a request with two says nothing certain. RFC 8259 §4
struct RepeatedMember {
    private enum Frame {
        /// The names so far, the last one, and whether another name comes next.
        case object(names: Set<String>, last: String, expectsName: Bool)
        case list(index: Int)
    }

    private var frames: [Frame] = []

    /// The path of the first member that is there twice, `select.tags`; `nil` if there is none.
    ///
    /// - Parameter json: a valid JSON text.
    static func path(in json: [UInt8]) -> String? {
        var finder = RepeatedMember()
        var index = 0
        while index < json.count {
            let start = index
            index += 1
            guard json[start] == UInt8(ascii: "\"") else {
                finder.read(json[start])
                continue
            }
            while index < json.count, json[index] != UInt8(ascii: "\"") {
                index += json[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            index = min(index + 1, json.count)
            if finder.isRepeated(json[start..<index]) { return finder.path }
        }
        return nil
    }

    private mutating func read(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"): frames.append(.object(names: [], last: "", expectsName: true))
        case UInt8(ascii: "["): frames.append(.list(index: 0))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): frames.removeLast(frames.isEmpty ? 0 : 1)
        case UInt8(ascii: ","):
            switch frames.popLast() {
            case .object(let names, let last, _): frames.append(.object(names: names, last: last, expectsName: true))
            case .list(let index): frames.append(.list(index: index + 1))
            case nil: break
            }
        default: break
        }
    }

    /// Reads a text with its quotation marks.
    private mutating func isRepeated(_ text: ArraySlice<UInt8>) -> Bool {
        guard case .object(var names, _, expectsName: true) = frames.last else { return false }
        // An escape sequence may stand for any character of a name.
        let plain = String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
        let escaped = text.contains(UInt8(ascii: "\\")) ? try? JSONDecoder().decode(String.self, from: Data(text)) : nil
        let name = escaped ?? plain
        let isNew = names.insert(name).inserted
        frames[frames.count - 1] = .object(names: names, last: name, expectsName: false)
        return !isNew
    }

    private var path: String {
        frames.reduce("") { path, frame in
            switch frame {
            case .object(_, let last, _): path.isEmpty ? last : path + "." + last
            case .list(let index): path + "[\(index)]"
            }
        }
    }
}
