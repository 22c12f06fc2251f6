import NIOCore

/// The streams with responses from memory, which have no object, and when one of them last moved.
/// There are a few at a time, so that looking at each is faster than a dictionary.
struct HTTP2HotStreams {
    /// nghttp2 refers to both until the stream is over.
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

    /// The client has taken content of one of them.
    mutating func move(at now: NIODeadline) { movedAt = now }

    /// - Returns: `false` if it is none of them.
    mutating func end(_ id: Int32) -> Bool {
        guard let place = streams.firstIndex(where: { $0.id == id }) else { return false }
        streams.swapAt(place, streams.count - 1)
        streams.removeLast()
        return true
    }

    /// Whether the client has taken nothing for longer than it may.
    func areStalled(at now: NIODeadline, for limit: TimeAmount) -> Bool { !streams.isEmpty && now - movedAt > limit }
}
