/// Text whose lines depend only on their line number, so it compresses well: the body of
/// `GET /gzip/{count}`.
public struct DeterministicText: Sendable {
    /// The length of the longest text, 1 GiB.
    public static let maximumCount: Int64 = 1 << 30

    private static let ending = Array(" is the number of this line\n".utf8)
    private static let digits = 10

    /// Creates the text.
    public init() {}

    /// Returns the bytes at these offsets.
    public func bytes(_ range: Range<Int64>) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let lineLength = Int64(Self.digits + Self.ending.count)
        let first = range.lowerBound / lineLength
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count + 2 * Int(lineLength))
        for number in first...(range.upperBound - 1) / lineLength {
            let text = String(number)
            bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: Self.digits - text.utf8.count))
            bytes.append(contentsOf: text.utf8)
            bytes.append(contentsOf: Self.ending)
        }
        let skipped = Int(range.lowerBound - first * lineLength)
        return Array(bytes[skipped..<skipped + range.count])
    }
}
