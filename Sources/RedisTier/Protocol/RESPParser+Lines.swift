import NIOCore

extension RESPParser {
    /// The RESP types by their first byte.
    enum Kind: UInt8 {
        case simpleString = 0x2B  // +
        case error = 0x2D  // -
        case integer = 0x3A  // :
        case bulk = 0x24  // $
        case array = 0x2A  // *
        case null = 0x5F  // _
        case boolean = 0x23  // #
        case double = 0x2C  // ,
        case bigNumber = 0x28  // (
        case blobError = 0x21  // !
        case verbatim = 0x3D  // =
        case map = 0x25  // %
        case set = 0x7E  // ~
        case push = 0x3E  // >
        case attribute = 0x7C  // |

        /// The maximum length of a line that holds a length or a number of bounded size, in bytes.
        static let longestNumber = 64

        var isNumber: Bool {
            switch self {
            case .simpleString, .error, .bigNumber: false
            default: true
            }
        }
    }
}

extension RESPServerError {
    init(_ bytes: ByteBuffer) {
        self.init(String(decoding: bytes.readableBytesView.prefix(Self.longestText), as: UTF8.self))
    }
}

extension ByteBuffer {
    /// The line as a length or a count: at most 10 digits and nothing else.
    var count: Int? {
        guard (1...10).contains(readableBytes) else { return nil }
        return integer.flatMap { readableBytesView.first.map(Self.isDigit) == true ? Int(exactly: $0) : nil }
    }

    /// Whether the line is an optional sign followed by digits.
    var isInteger: Bool {
        let digits = readableBytesView.drop(while: Self.isSign)
        return !digits.isEmpty && readableBytes - digits.count <= 1 && digits.allSatisfy(Self.isDigit)
    }

    /// The line as a 64-bit integer.
    var integer: Int64? {
        var digits = readableBytesView[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if digits.first.map(Self.isSign) == true { digits = digits.dropFirst() }
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard Self.isDigit(byte) else { return nil }
            let digit = Int64(byte &- 0x30)
            let (product, isLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) =
                isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            guard !isLarge, !isLarger else { return nil }
            value = sum
        }
        return value
    }

    /// The line as a number: `[<+|->]<integral>[.<fractional>][<E|e>[sign]<exponent>]`, `inf`,
    /// `-inf` or `nan`.
    var double: Double? {
        let text = String(decoding: readableBytesView, as: UTF8.self)
        switch text {
        case "inf", "+inf": return .infinity
        case "-inf": return -.infinity
        case "nan", "-nan": return .nan
        default: break
        }
        // This rejects hexadecimal numbers and other names for infinity.
        let isPlain = text.utf8.allSatisfy { Self.isDigit($0) || Self.isSign($0) || "eE.".utf8.contains($0) }
        guard isPlain, text.utf8.contains(where: Self.isDigit) else { return nil }
        return Double(text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isSign(_ byte: UInt8) -> Bool { byte == 0x2B || byte == 0x2D }
}
