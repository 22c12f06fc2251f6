import NIOCore

/// A response's head in which only the seconds of `Age` and `ttl` are filled in.
struct HeadTemplate {
    private let start: ByteBuffer
    private let middle: ByteBuffer
    private let end: ByteBuffer
    private let isAgeFirst: Bool

    /// - Parameters:
    ///   - head: the bytes of the head for this age and time to live, in seconds.
    /// - Returns: `nil` if the numbers are not in their expected places.
    init?(_ head: ByteBuffer, age: Int64, timeToLive: Int64) {
        var ages: Range<Int>?
        var times: Range<Int>?
        var start = head.readerIndex
        let bytes = head.readableBytesView
        while let end = bytes[start...].firstIndex(of: .lineFeed) {
            let line = bytes[start..<end]
            if line.starts(with: Self.age) { ages = Self.digits(in: line, after: start + Self.age.count, age) }
            // The gateway's own line is the last one of this name.
            if line.starts(with: Self.hit) { times = Self.digits(in: line, after: start + Self.hit.count, timeToLive) }
            start = end + 1
        }
        guard let ages, let times else { return nil }
        isAgeFirst = ages.lowerBound < times.lowerBound
        let (first, second) = isAgeFirst ? (ages, times) : (times, ages)
        guard let before = head.getSlice(at: head.readerIndex, length: first.lowerBound - head.readerIndex),
            let between = head.getSlice(at: first.upperBound, length: second.lowerBound - first.upperBound),
            let after = head.getSlice(at: second.upperBound, length: head.writerIndex - second.upperBound)
        else { return nil }
        self.start = before
        middle = between
        end = after
    }

    private static let age = Array("Age: ".utf8)
    private static let hit = Array("Cache-Status: holdfast; hit; ttl=".utf8)

    /// The place of a number's digits; `nil` if another number is there.
    private static func digits(in line: ByteBufferView, after index: Int, _ number: Int64) -> Range<Int>? {
        let digits = line[index...].prefix { $0.isDigit }
        guard digits.elementsEqual(String(number).utf8) else { return nil }
        return digits.startIndex..<digits.endIndex
    }

    /// The bytes of the head without the two numbers.
    var count: Int { start.readableBytes + middle.readableBytes + end.readableBytes }

    /// The head with the given seconds.
    ///
    /// - Parameter room: the bytes to reserve for what is written after the head.
    func bytes(age: Int64, timeToLive: Int64, room: Int) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(count + 24 + room)
        bytes.writeImmutableBuffer(start)
        bytes.writeString(String(isAgeFirst ? age : timeToLive))
        bytes.writeImmutableBuffer(middle)
        bytes.writeString(String(isAgeFirst ? timeToLive : age))
        bytes.writeImmutableBuffer(end)
        return bytes
    }
}
