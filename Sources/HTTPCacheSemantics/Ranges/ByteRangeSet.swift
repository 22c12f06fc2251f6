internal import HTTPTypes

/// The ranges in a request's `Range`, before the length of the representation is known. RFC 9110
/// §14.1.2
struct ByteRangeSet: Sendable, Hashable {
    enum Member: Sendable, Hashable {
        /// `first-` or `first-last`, including the last byte.
        case from(StatedLength, through: StatedLength?)
        /// `-length`.
        case suffix(StatedLength)
    }

    /// The maximum number of members; real requests have fewer. A field with more is ignored.
    static let maximumMembers = 1024

    /// The members in the request's order; at least one.
    var members: [Member]

    /// Parses the field. Returns `nil` if it must be ignored, because it is absent, repeated,
    /// malformed or has another unit.
    init?(_ fields: HTTPFields) {
        guard fields.contains(.range) else { return nil }
        var lines = fields[fields: .range].makeIterator()
        guard let line = lines.next(), lines.next() == nil,
            let members = line.withUnsafeBytesOfValue({ Self.parse($0) })
        else { return nil }
        self.members = members
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> [Member]? {
        let range = bytes.trimmed(0..<bytes.count)
        var scanner = ByteScanner(UnsafeBufferPointer(rebasing: bytes[range]))
        // Units are case-insensitive. RFC 9110 §14.1
        guard scanner.bytes.equals("bytes", in: scanner.token()), scanner.current == UInt8(ascii: "=") else {
            return nil
        }
        scanner.advance()
        var members: [Member] = []
        while true {
            scanner.skipSeparators()
            if scanner.isAtEnd { break }
            guard members.count < maximumMembers, let member = scanner.byteRange() else { return nil }
            members.append(member)
            scanner.skipWhitespace()
            if let byte = scanner.current, byte != UInt8(ascii: ",") { return nil }
        }
        return members.isEmpty ? nil : members
    }

    /// Returns the members that the representation can satisfy, clamped to its length, in the
    /// request's order. RFC 9110 §14.1.2
    func resolved(completeLength: StatedLength) -> [Range<StatedLength>] {
        members.compactMap { member in
            switch member {
            case .from(let first, let last):
                guard first < completeLength else { return nil }
                guard let end = last?.adding(1), end < completeLength else { return first..<completeLength }
                return Range(from: first, to: end)
            case .suffix(let length):
                guard length > 0, completeLength > 0 else { return nil }
                return (completeLength.subtracting(length) ?? 0)..<completeLength
            }
        }
    }

    /// The ranges, if every member has both ends and so does not depend on the representation's
    /// length; otherwise `nil`.
    var closed: [Range<StatedLength>]? {
        var result: [Range<StatedLength>] = []
        for member in members {
            guard case .from(let first, let last?) = member, let end = last.adding(1) else { return nil }
            result.append(Range(from: first, to: end))
        }
        return result
    }

    /// Whether the field is `bytes=0-`, which requests the whole representation.
    var isWhole: Bool { members == [.from(0, through: nil)] }

    /// Whether a member is a suffix of at least one byte. Any representation satisfies it, even an
    /// empty one.
    var hasSuffix: Bool {
        members.contains { member in
            if case .suffix(let length) = member { return length > 0 }
            return false
        }
    }
}

extension Array where Element == Range<StatedLength> {
    /// The ranges in ascending order, with overlapping and adjacent ranges merged.
    var coalesced: [Range<StatedLength>] {
        var result: [Range<StatedLength>] = []
        for range in sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }

    /// The total length of the ranges, saturating.
    var totalLength: StatedLength { reduce(0) { $0.adding($1.length) ?? .maximum } }
}

extension ByteScanner {
    /// Reads one member of a `Range` field in bytes.
    ///
    /// A number that exceeds `Int64` is beyond every representation and is clamped.
    fileprivate mutating func byteRange() -> ByteRangeSet.Member? {
        let first = clampedNumber()
        guard current == UInt8(ascii: "-") else { return nil }
        advance()
        let last = clampedNumber()
        switch (first, last) {
        case (nil, let length?): return .suffix(length)
        case (let first?, let last):
            if let last, last < first { return nil }
            return .from(first, through: last)
        case (nil, nil): return nil
        }
    }
}
