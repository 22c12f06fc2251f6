import NIOCore

/// The streams with responses from memory, which have no object, and the time of their last
/// progress. There are only a few at a time, so a linear search is faster than a dictionary.
struct HTTP2HotStreams {
    /// nghttp2 refers to the response and the fields until the stream is over.
    private struct Stream {
        let id: Int32
        let response: HotResponse
        let fields: HTTP2Fields
    }

    private var streams: [Stream] = []
    private var movedAt = NIODeadline.uptimeNanoseconds(0)

    var isEmpty: Bool { streams.isEmpty }

    mutating func begin(_ id: Int32, _ response: HotResponse, _ fields: HTTP2Fields, at now: NIODeadline) {
        if streams.isEmpty { movedAt = now }
        streams.append(Stream(id: id, response: response, fields: fields))
    }

    /// Records that the client has accepted content of one of these streams.
    mutating func move(at now: NIODeadline) { movedAt = now }

    /// Removes a stream.
    ///
    /// - Returns: `false` if the stream is not one of these.
    mutating func end(_ id: Int32) -> Bool {
        guard let place = streams.firstIndex(where: { $0.id == id }) else { return false }
        streams.swapAt(place, streams.count - 1)
        streams.removeLast()
        return true
    }

    /// Whether the client has accepted no content of these streams for longer than the limit.
    func areStalled(at now: NIODeadline, for limit: TimeAmount) -> Bool { !streams.isEmpty && now - movedAt > limit }
}
