import HTTPTypes
import Hummingbird

/// An interruption after a part of a body was sent.
enum BodyInterruption: Sendable {
    /// The connection is closed, which the framework does when a body throws.
    case closing
    /// The rest is sent when the gate opens.
    case waiting(Gate)
}

/// The error that ends a body early, on purpose.
struct Truncated: Error {}

extension Response {
    /// Returns the same response with a body that is interrupted after `count` bytes. Its
    /// `Content-Length` does not change.
    func interrupted(after count: Int, by interruption: BodyInterruption) -> Response {
        let original = body
        var response = self
        response.body = ResponseBody(contentLength: original.contentLength) { writer in
            try await original.write(
                InterruptingWriter(parent: writer, remaining: count, interruption: interruption)
            )
        }
        return response
    }
}

/// Forwards `remaining` bytes, then interrupts the body once.
private struct InterruptingWriter: ResponseBodyWriter {
    var parent: any ResponseBodyWriter
    var remaining: Int
    let interruption: BodyInterruption
    var wasInterrupted = false

    @concurrent mutating func write(_ buffer: ByteBuffer) async throws {
        guard !wasInterrupted else { return try await parent.write(buffer) }
        var rest = buffer
        if let first = rest.readSlice(length: min(remaining, rest.readableBytes)) {
            remaining -= first.readableBytes
            try await parent.write(first)
        }
        guard remaining == 0 else { return }
        try await interrupt()
        if rest.readableBytes > 0 { try await parent.write(rest) }
    }

    @concurrent consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        // A body shorter than the limit is interrupted at its end, so that a truncation always
        // truncates.
        if !wasInterrupted { try await interrupt() }
        try await parent.finish(trailingHeaders)
    }

    @concurrent private mutating func interrupt() async throws {
        wasInterrupted = true
        switch interruption {
        case .closing: throw Truncated()
        case .waiting(let gate): try await gate.pass()
        }
    }
}
