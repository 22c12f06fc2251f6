import HTTPTypes
import NIOCore
import Synchronization

/// What a call makes of the response to its own request before that is stored: the value that it
/// then gets, or why there is none.
///
/// So content is read once: by the check that keeps bad content out of the store, which runs before
/// the body ends for its readers.
final class Judgement<Value: Sendable>: Sendable {
    private struct Made {
        var status: HTTPResponse.Status
        var bytes: ByteBuffer
        var result: Result<Value, any Error>
    }

    private let made = Mutex<Made?>(nil)

    /// Keeps what was made of a response.
    func keep(_ result: Result<Value, any Error>, of head: HTTPResponse, _ bytes: ByteBuffer) {
        made.withLock { $0 = Made(status: head.status, bytes: bytes, result: result) }
    }

    /// Takes what was made of this very response; `nil` where that was another one, or none was
    /// judged.
    func take(of head: HTTPResponse, _ bytes: ByteBuffer) -> Result<Value, any Error>? {
        guard let made = made.withLock({ $0.take() }), made.status == head.status, made.bytes == bytes else {
            return nil
        }
        return made.result
    }
}

extension ContentReading {
    /// What must be right before a response is stored: all that the call says of it. The value that
    /// it makes on the way is kept for the call.
    ///
    /// Where validations, an envelope or the statuses say what a success is, it is asked for before
    /// anything is stored; elsewhere only before something stored would be lost.
    func check<Value: Sendable>(_ call: Call<Value>, keepingFor judgement: Judgement<Value>) -> ContentCheck {
        let (decoded, interpret) = (call.decoded, call.interpret)
        var check = ContentCheck(maximumBytes: maximumBodyBytes) { [self] head, bytes in
            let reader = ContentReader(head: head, bytes: bytes, kept: nil, reading: self)
            reader.remembersValue = decoded is any EnvelopedContent.Type
            let result = Result {
                try reader.look()
                return try reader.interpreted(interpret)
            }
            judgement.keep(result, of: head, bytes)
            _ = try result.get()
            try reader.refuseFailure(decoded)
        }
        check.isForReplacements = !saysWhatSucceeds(decoded)
        if isRecalling, call.recall != nil, acceptedStatuses == .successful, let identity {
            check.kind = ContentCheckKind(Value.self, way: identity)
        }
        return check
    }

    /// Whether more than a value of the right type makes a success.
    private func saysWhatSucceeds(_ type: any Decodable.Type) -> Bool {
        !checks.isEmpty || decoding.envelope != nil || type is any EnvelopedContent.Type
            || !acceptedStatuses.acceptsSuccess
    }
}
