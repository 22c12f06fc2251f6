/// Watches an event stream while it arrives, and tells whether it ended with an event that holds a
/// text. HTML §9.2.6
///
/// Only complete events count: they have data, and an empty line after it. A comment is no event. A
/// stream that breaks off after such an event is not at its end.
///
/// ```swift
/// var end = EventStreamEnd("[DONE]")
/// end.receive("data: [DONE]\n\n".utf8)
/// end.isReached  // true
/// ```
struct EventStreamEnd: Sendable {
    /// The line that is arriving.
    private struct Line {
        var isEmpty = true
        var isComment = false
        /// How much of the field name `data` has matched.
        var name = Name.matching(0)
        var holdsText = false

        enum Name {
            case matching(Int)
            case isData
            case isOther
        }
    }

    /// The event that is arriving.
    private struct Event {
        var isOpen = false
        var hasData = false
        var holdsText = false
    }

    private static let name = Array("data".utf8)

    private var text: TextSearch
    private var line = Line()
    private var event = Event()
    private var isAfterReturn = false
    private var lastHoldsText = false

    /// - Parameter text: what the last event must hold. It must have no line break.
    init(_ text: String) { self.text = TextSearch(Array(text.utf8)) }

    /// Whether the last event is complete and holds the text, and only comments followed.
    var isReached: Bool { lastHoldsText && !event.isOpen && line.isEmpty }

    /// Receives the next bytes, which may be cut anywhere.
    mutating func receive(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { receive(byte) }
    }

    private mutating func receive(_ byte: UInt8) {
        let isSecondOfPair = isAfterReturn && byte == 0x0A
        isAfterReturn = byte == 0x0D
        switch byte {
        case 0x0A where isSecondOfPair: break
        case 0x0A, 0x0D: endLine()
        default: add(byte)
        }
    }

    private mutating func add(_ byte: UInt8) {
        if line.isEmpty {
            line.isComment = byte == UInt8(ascii: ":")
            text.restart()
        }
        line.isEmpty = false
        if case .matching(let count) = line.name {
            if count == Self.name.count {
                line.name = byte == UInt8(ascii: ":") ? .isData : .isOther
            } else {
                line.name = byte == Self.name[count] ? .matching(count + 1) : .isOther
            }
        }
        if !line.isComment, !line.holdsText { line.holdsText = text.finds(byte) }
    }

    private mutating func endLine() {
        defer { line = Line() }
        guard !line.isEmpty else {
            if event.hasData { lastHoldsText = event.holdsText }
            event = Event()
            return
        }
        guard !line.isComment else { return }
        event.isOpen = true
        switch line.name {
        case .isData: event.hasData = true
        // A line that is only a name has an empty value.
        case .matching(let count): event.hasData = event.hasData || count == Self.name.count
        case .isOther: break
        }
        if line.holdsText { event.holdsText = true }
    }
}

/// Finds a text in bytes that arrive one by one, in constant time for each. (Knuth, Morris, Pratt)
private struct TextSearch: Sendable {
    private let text: [UInt8]
    /// For each beginning of the text, the length of its longest proper beginning that is also its
    /// end.
    private let borders: [Int]
    private var matched = 0

    init(_ text: [UInt8]) {
        self.text = text
        var borders = [0]
        for byte in text.dropFirst() {
            var length = borders.last ?? 0
            while length > 0, text[length] != byte { length = borders[length - 1] }
            borders.append(text[length] == byte ? length + 1 : 0)
        }
        self.borders = borders
    }

    mutating func restart() { matched = 0 }

    /// Takes the next byte. Returns whether the text ends with it.
    mutating func finds(_ byte: UInt8) -> Bool {
        guard !text.isEmpty else { return true }
        if matched == text.count { matched = borders[matched - 1] }
        while matched > 0, text[matched] != byte { matched = borders[matched - 1] }
        if text[matched] == byte { matched += 1 }
        return matched == text.count
    }
}
