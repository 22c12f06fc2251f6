import HTTPWire
import NIOCore

/// A response's head in which only the seconds of `Age` and `ttl` change.
struct HeadTemplate {
    private let start: ByteBuffer
    private let middle: ByteBuffer
    private let end: ByteBuffer
    private let isAgeFirst: Bool

    /// - Returns: `nil` if the head lacks one of the numbers.
    init?(_ head: ByteBuffer, _ places: TimeOffsets) {
        guard let age = places.age, let timeToLive = places.timeToLive else { return nil }
        isAgeFirst = age.lowerBound < timeToLive.lowerBound
        let (first, second) = isAgeFirst ? (age, timeToLive) : (timeToLive, age)
        let start = head.readerIndex
        guard let before = head.getSlice(at: start, length: first.lowerBound),
            let between = head.getSlice(at: start + first.upperBound, length: second.lowerBound - first.upperBound),
            let after = head.getSlice(at: start + second.upperBound, length: head.readableBytes - second.upperBound)
        else { return nil }
        self.start = before
        middle = between
        end = after
    }

    /// The number of bytes in the head without the two numbers.
    var count: Int { start.readableBytes + middle.readableBytes + end.readableBytes }

    /// Returns the head with the given seconds.
    ///
    /// - Parameter room: the number of bytes to reserve for content after the head.
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
