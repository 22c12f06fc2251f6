internal import HTTPTypes

/// The normalized form in which request fields listed in `Vary` are compared. RFC 9111 §4.1
///
/// All lines of a name are joined in order. Whitespace around commas and empty members are dropped.
///
/// - `Accept-Encoding`, `Accept-Language` and `Accept-Charset` are lower-cased and sorted, because
///   their members are case-insensitive and weights, not the order, express preference (RFC 9110
///   §12.5.3, §12.5.4). They have no quoted-strings.
/// - In any other field, case matters and quoted-strings do not change.
/// - `Cookie` does not change at all.
///
/// Normalizing takes time proportional to the field's bytes, whatever they are.
struct SelectingField {
    /// The maximum number of members that are sorted. Real fields have fewer; in a longer field,
    /// the order matters.
    static let sortedMembers = 256

    private enum Kind {
        case cookie, ordered, unordered

        init(_ canonicalName: String) {
            switch canonicalName {
            case "cookie": self = .cookie
            case "accept-encoding", "accept-language", "accept-charset": self = .unordered
            default: self = .ordered
            }
        }
    }

    private let kind: Kind
    /// The members, concatenated.
    private var bytes: [UInt8] = []
    /// The end offset of each member.
    private var ends: [Int] = []

    private init(_ kind: Kind) { self.kind = kind }

    /// Returns the normalized value, or `nil` if the request lacks the field. An absent field
    /// differs from an empty one.
    static func normalized(_ canonicalName: String, in fields: HTTPFields) -> [UInt8]? {
        var form = SelectingField(Kind(canonicalName))
        var isPresent = false
        for index in fields.indices where fields[index].name.canonicalName == canonicalName {
            isPresent = true
            fields[index].withUnsafeBytesOfValue { form.add($0) }
        }
        return isPresent ? form.joined : nil
    }

    private mutating func add(_ line: UnsafeBufferPointer<UInt8>) {
        guard kind != .cookie else {
            bytes.append(contentsOf: line)
            return ends.append(bytes.count)
        }
        bytes.reserveCapacity(bytes.count + line.count)
        var scanner = ByteScanner(line)
        while let member = scanner.nextMember(isUnordered: kind == .unordered) {
            if kind == .unordered {
                for index in member where !line[index].isWhitespace { bytes.append(line[index].asciiLowercased) }
            } else {
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: line[member]))
            }
            ends.append(bytes.count)
        }
    }

    private var joined: [UInt8] {
        bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            var members: [UnsafeBufferPointer<UInt8>] = []
            members.reserveCapacity(ends.count)
            for end in ends {
                members.append(UnsafeBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
            if kind == .unordered, members.count <= Self.sortedMembers {
                members.sort { $0.precedes($1) }
            }
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count + 2 * members.count)
            for (index, member) in members.enumerated() {
                if index > 0 {
                    result.append(UInt8(ascii: kind == .cookie ? ";" : ","))
                    result.append(UInt8(ascii: " "))
                }
                result.append(contentsOf: member)
            }
            return result
        }
    }
}

/// Compares short lines, which most requests have, in place.
extension SelectingField {
    /// The maximum length, in bytes, of a line that is compared in place: each member is compared
    /// with the whole other line.
    private static let shortLine = 128

    /// Compares the common case, at most one short line on each side, without allocating memory.
    ///
    /// Returns `nil` for any other case. The name is compared case-insensitively.
    static func areSameLines(
        _ name: UnsafeBufferPointer<UInt8>,
        _ stored: HTTPFields,
        _ presented: HTTPFields
    ) -> Bool? {
        guard let left = line(name, stored), let right = line(name, presented) else { return nil }
        switch (left, right) {
        case (.none, .none): return true
        case (.some(let left), .some(let right)):
            return left.withUnsafeBytesOfValue { first in
                right.withUnsafeBytesOfValue { second in
                    if first.equals(second) { return true }
                    let whole = 0..<name.count
                    if name.equals("cookie", in: whole) { return false }
                    guard first.count <= shortLine, second.count <= shortLine else { return nil }
                    let isUnordered =
                        name.equals("accept-encoding", in: whole) || name.equals("accept-language", in: whole)
                        || name.equals("accept-charset", in: whole)
                    return isUnordered ? haveSameSet(first, second) : haveSameList(first, second)
                }
            }
        default: return false
        }
    }

    /// Returns whether both lines have the same members in the same order.
    private static func haveSameList(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) -> Bool
    {
        var left = ByteScanner(first)
        var right = ByteScanner(second)
        while true {
            switch (left.nextMember(isUnordered: false), right.nextMember(isUnordered: false)) {
            case (nil, nil): return true
            case (let one?, let other?):
                guard first[one].elementsEqual(second[other]) else { return false }
            default: return false
            }
        }
    }

    /// Returns whether both lines have the same members, the same number of times, in any order;
    /// returns `nil` if there are more than 64 members.
    private static func haveSameSet(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) -> Bool?
    {
        var taken: UInt64 = 0
        var count = 0
        var left = ByteScanner(first)
        while let member = left.nextMember(isUnordered: true) {
            count += 1
            var right = ByteScanner(second)
            var index: UInt64 = 0
            var isFound = false
            while let other = right.nextMember(isUnordered: true) {
                guard index < 64 else { return nil }
                if taken & (1 << index) == 0, first.isSameToken(member, second, other) {
                    taken |= 1 << index
                    isFound = true
                    break
                }
                index += 1
            }
            if !isFound { return false }
        }
        var right = ByteScanner(second)
        while right.nextMember(isUnordered: true) != nil { count -= 1 }
        return count == 0
    }

    /// Returns the only line of a field, or `nil` if there are several.
    private static func line(_ name: UnsafeBufferPointer<UInt8>, _ fields: HTTPFields) -> HTTPField?? {
        var found: HTTPField?
        for field in fields {
            var other = field.name.canonicalName
            guard other.utf8.count == name.count, other.withUTF8({ $0.equalsLowercased(name) }) else { continue }
            if found != nil { return nil }
            found = field
        }
        return .some(found)
    }
}

extension ByteScanner {
    /// Returns the next list member without surrounding whitespace, or `nil` after the last member.
    ///
    /// - Parameter isUnordered: whether the field has no quoted-strings, so that every comma ends a
    ///   member.
    fileprivate mutating func nextMember(isUnordered: Bool) -> Range<Int>? {
        skipSeparators()
        if isAtEnd { return nil }
        let start = position
        if isUnordered {
            while let byte = current, byte != UInt8(ascii: ",") { advance() }
        } else {
            skipMember()
        }
        return bytes.trimmed(start..<position)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns whether these bytes sort before the other bytes.
    fileprivate func precedes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        while index < count, index < other.count {
            if self[index] != other[index] { return self[index] < other[index] }
            index += 1
        }
        return count < other.count
    }

    /// Returns whether both ranges have the same bytes, ignoring case and whitespace.
    fileprivate func isSameToken(_ range: Range<Int>, _ other: UnsafeBufferPointer<UInt8>, _ otherRange: Range<Int>)
        -> Bool
    {
        var left = range.lowerBound
        var right = otherRange.lowerBound
        while true {
            while left < range.upperBound, self[left].isWhitespace { left += 1 }
            while right < otherRange.upperBound, other[right].isWhitespace { right += 1 }
            if left == range.upperBound || right == otherRange.upperBound {
                return left == range.upperBound && right == otherRange.upperBound
            }
            guard self[left].asciiLowercased == other[right].asciiLowercased else { return false }
            left += 1
            right += 1
        }
    }
}
