package import NIOCore

/// A command with its arguments. The description shows only the name.
package struct RedisCommand: Sendable, CustomStringConvertible {
    /// One argument.
    package enum Argument: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        case text(String)
        case bytes(ByteBuffer)
        case integer(Int)

        package init(stringLiteral value: String) { self = .text(value) }
        package init(integerLiteral value: Int) { self = .integer(value) }
    }

    let name: String
    let arguments: [Argument]

    package init(_ name: String, _ arguments: [Argument]) {
        self.name = name
        self.arguments = arguments
    }

    package init(_ name: String, _ arguments: Argument...) { self.init(name, arguments) }

    package var description: String { name }

    /// The number of bytes on the wire.
    package var encodedCount: Int {
        var count = 1 + (arguments.count + 1).digitCount + 2 + Self.encodedCount(name.utf8.count)
        for argument in arguments { count += Self.encodedCount(argument.count) }
        return count
    }

    private static func encodedCount(_ length: Int) -> Int { 1 + length.digitCount + 2 + length + 2 }
}

extension RedisCommand.Argument {
    var count: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.readableBytes
        case .integer(let number): number.digitCount
        }
    }
}

extension Int {
    /// The number of characters in the decimal form.
    fileprivate var digitCount: Int {
        var count = self < 0 ? 2 : 1
        var rest = self / 10
        while rest != 0 {
            count += 1
            rest /= 10
        }
        return count
    }
}
