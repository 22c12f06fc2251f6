package import HTTPTypes

/// `Content-Length`: one number, possibly repeated. RFC 9110 §8.6
package enum ContentLength: Sendable, Hashable {
    case absent
    case bytes(StatedLength)
    /// Not a number, a number that `Int64` cannot hold, or several different numbers.
    case malformed

    package init(_ fields: HTTPFields) {
        self = .absent
        guard fields.contains(.contentLength) else { return }
        for field in fields where field.name == .contentLength {
            field.withUnsafeBytesOfValue { add($0) }
        }
    }

    /// The number; `nil` if it is absent or invalid.
    package var bytes: StatedLength? {
        if case .bytes(let length) = self { length } else { nil }
    }

    private mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        var scanner = ByteScanner(bytes)
        scanner.skipSeparators()
        if scanner.isAtEnd { self = .malformed }
        while !scanner.isAtEnd {
            let start = scanner.position
            scanner.skipMember()
            let range = bytes.trimmed(start..<scanner.position)
            let number = StatedLength(digits: UnsafeBufferPointer(rebasing: bytes[range]))
            switch (self, number) {
            case (.absent, let number?): self = .bytes(number)
            case (.bytes(let earlier), let number?) where earlier == number: break
            default: self = .malformed
            }
            scanner.skipSeparators()
        }
    }
}
