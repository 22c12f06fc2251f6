internal import HTTPTypes

/// Compares request fields that `Vary` names. RFC 9111 §4.1
///
/// All lines of a name are joined in order; whitespace around commas and empty members are dropped.
///
/// Case matters except in `Accept-Encoding`, `Accept-Language` and `Accept-Charset`. Their members
/// are case-insensitive and their order means nothing, because weights express preference (RFC 9110
/// §12.5.3, §12.5.4), so they are also sorted; they have no quoted-strings. In any other field a
/// quoted-string does not change, and `Cookie` does not change at all.
enum SelectingField {
    /// The normalised value; `nil` if the request lacks the field, which differs from an empty one.
    static func normalized(_ canonicalName: String, in fields: HTTPFields) -> [UInt8]? {
        var members: [ArraySlice<UInt8>] = []
        var isPresent = false
        let isCookie = canonicalName == "cookie"
        let isUnordered = isUnordered(canonicalName)
        for field in fields where field.name.canonicalName == canonicalName {
            isPresent = true
            field.withUnsafeBytesOfValue { bytes in
                if isCookie {
                    members.append(Array(bytes)[...])
                } else {
                    split(bytes, isUnordered: isUnordered, into: &members)
                }
            }
        }
        guard isPresent else { return nil }
        if isUnordered {
            members = members.map { ArraySlice($0.compactMap { $0.isWhitespace ? nil : $0.asciiLowercased }) }
            members.sort { $0.lexicographicallyPrecedes($1) }
        }
        return Array(members.joined(separator: isCookie ? [0x3B, 0x20] : [0x2C, 0x20]))
    }

    private static func isUnordered(_ canonicalName: String) -> Bool {
        switch canonicalName {
        case "accept-encoding", "accept-language", "accept-charset": true
        default: false
        }
    }

    private static func split(
        _ bytes: UnsafeBufferPointer<UInt8>,
        isUnordered: Bool,
        into members: inout [ArraySlice<UInt8>]
    ) {
        var scanner = ByteScanner(bytes)
        while let range = scanner.nextMember(isUnordered: isUnordered) {
            members.append(Array(bytes[range])[...])
        }
    }

    /// Compares the usual case, at most one line on each side, without allocation.
    ///
    /// `nil` means undecided. The name is compared without regard to case.
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
                    if name.equals("cookie", in: 0..<name.count) { return false }
                    let whole = 0..<name.count
                    let isUnordered =
                        name.equals("accept-encoding", in: whole) || name.equals("accept-language", in: whole)
                        || name.equals("accept-charset", in: whole)
                    return isUnordered ? haveSameSet(first, second) : haveSameList(first, second)
                }
            }
        default: return false
        }
    }

    /// Whether both have the same members in the same order.
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

    /// Whether both have the same members equally often, in any order; `nil` if there are more than
    /// 64.
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

    /// The only line of a field; `nil` if there are several.
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

    /// Whether both have the field, with values that mean the same, or neither has it.
    static func matches(_ canonicalName: String, _ stored: HTTPFields, _ presented: HTTPFields) -> Bool {
        normalized(canonicalName, in: stored) == normalized(canonicalName, in: presented)
    }
}

extension ByteScanner {
    /// The next list member without the whitespace around it; `nil` after the last.
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
    /// Whether both have the same bytes apart from case and whitespace.
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
