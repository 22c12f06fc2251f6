package import CacheRules
import HTTPCacheSemantics

/// The values of references to variables (`${NAME}`), so that messages can show the reference.
///
/// Messages about a value that cannot be read never contain it: see ``FileReader``. This type is
/// for messages that are made later, from settings that were read.
package struct References: Sendable, Hashable {
    /// The references by the lower-case bytes of their values.
    private var written: [[UInt8]: String] = [:]
    /// The words of all values, in lower case.
    private var words: Set<[UInt8]> = []
    /// The maximum number of texts with references that are known. Variables are always known.
    private static let maximumTexts = 1000

    /// Creates a table without references.
    package init() {}

    /// Adds a variable.
    mutating func add(variable name: String, _ value: String) {
        let bytes = value.utf8.map(\.asciiLowercased)
        guard !bytes.isEmpty, written.updateValue("${\(name)}", forKey: bytes) == nil else { return }
        words.formUnion(Self.words(of: bytes))
    }

    /// Adds the text of a scalar with references.
    mutating func add(text: String, _ expanded: String) {
        guard !expanded.isEmpty, written.count < Self.maximumTexts else { return }
        written[expanded.utf8.map(\.asciiLowercased)] = text
    }

    /// Returns whether a message may contain the value of a variable, or a part of it.
    func mayAppear(in message: String) -> Bool {
        Self.words(of: message.utf8.map(\.asciiLowercased)).contains { word in
            // A message truncates long text.
            words.contains(word) || word.count >= Self.recognized && words.contains { $0.starts(with: word) }
        }
    }

    private static func words(of text: [UInt8]) -> [[UInt8]] {
        text.split { !$0.isAlphanumeric && $0 < 0x80 }.map(Array.init)
    }

    /// Returns a message with references instead of their values. Case is ignored, because hosts
    /// are shown in lower case. A value within a longer word stays: `1` in `10000` is not the value
    /// of a variable.
    package func hide(in message: String) -> String {
        if written.isEmpty { return message }
        let longestFirst = written.sorted { $0.key.count > $1.key.count }
        let bytes = Array(message.utf8)
        let lowercased = bytes.map(\.asciiLowercased)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index...].starts(with: "${".utf8), let end = bytes[index...].firstIndex(of: UInt8(ascii: "}")) {
                result += bytes[index...end]
                index = end + 1
            } else if let (count, reference) = Self.match(lowercased, at: index, longestFirst) {
                result += reference.utf8
                index += count
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns a finding with references instead of their values.
    package func hide(in finding: ConfigurationError.Finding) -> ConfigurationError.Finding {
        var finding = finding
        finding.subject = finding.subject.map { hide(in: $0) }
        finding.message = hide(in: finding.message)
        return finding
    }

    /// A value longer than this is recognized by its beginning, because messages truncate text.
    private static let recognized = 48

    private static func match(
        _ text: [UInt8],
        at index: Int,
        _ values: [(key: [UInt8], value: String)]
    ) -> (count: Int, reference: String)? {
        if index > 0, text[index - 1].isAlphanumeric, text[index].isAlphanumeric { return nil }
        for (value, reference) in values {
            let count = zip(text[index...], value).prefix { $0 == $1 }.count
            guard count >= min(value.count, recognized) else { continue }
            let end = index + count
            let isWithinWord = end < text.count && text[end].isAlphanumeric && text[end - 1].isAlphanumeric
            if count > recognized || !isWithinWord { return (count, reference) }
        }
        return nil
    }
}
