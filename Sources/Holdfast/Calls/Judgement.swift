import HTTPCache
import HTTPTypes
import NIOCore
import Synchronization

/// The result of checking a call's response before it is stored: the value that the call will
/// receive, or the error.
///
/// Because the result is kept, content is read only once: by the check that keeps bad content out
/// of the store. The check runs before the body ends for its readers.
final class Judgement<Value: Sendable>: Sendable {
    private struct Made {
        var status: HTTPResponse.Status
        var bytes: ByteBuffer
        var result: Result<Value, any Error>
    }

    private let made = Mutex<Made?>(nil)

    /// Stores the result for a response.
    func keep(_ result: Result<Value, any Error>, of head: HTTPResponse, _ bytes: ByteBuffer) {
        made.withLock { $0 = Made(status: head.status, bytes: bytes, result: result) }
    }

    /// Removes and returns the result for exactly this response; returns `nil` if another response
    /// or no response was checked.
    func take(of head: HTTPResponse, _ bytes: ByteBuffer) -> Result<Value, any Error>? {
        guard let made = made.withLock({ $0.take() }), made.status == head.status, made.bytes == bytes else {
            return nil
        }
        return made.result
    }
}

extension ContentReading {
    /// Returns the check that a response must pass before it is stored. The value that the check
    /// produces is kept for the call.
    ///
    /// If validations, an envelope or the statuses define success, the check runs before any
    /// response is stored. Otherwise it runs only before a stored response would be replaced.
    func check<Value: Sendable>(_ call: Call<Value>, keepingFor judgement: Judgement<Value>) -> ContentCheck {
        let (decoded, interpret) = (call.decoded, call.interpret)
        var check = ContentCheck(maximumBytes: maximumBodyBytes) { [self] head, bytes in
            let reader = ContentReader(head: head, bytes: bytes, kept: nil, reading: self)
            reader.remembersValue = decoded is any EnvelopedContent.Type
            let result = Result {
                try reader.runChecks()
                return try reader.interpreted(interpret)
            }
            judgement.keep(result, of: head, bytes)
            _ = try result.get()
            try reader.rejectFailure(decoded)
        }
        check.isForReplacements = !definesSuccess(decoded)
        if mayRecall, call.recall != nil, acceptedStatuses == .successful, let identity {
            check.kind = ContentCheckKind(Value.self, way: identity)
        }
        return check
    }

    /// Returns whether a success requires more than a value of the right type.
    private func definesSuccess(_ type: any Decodable.Type) -> Bool {
        !checks.isEmpty || decoding.envelope != nil || type is any EnvelopedContent.Type
            || !acceptedStatuses.acceptsSuccess
    }
}
