import Holdfast
import HoldfastTesting

/// Implements every hook and records its calls.
struct RecordingPlugin: PreparingPlugin, ObservingPlugin, ProcessingPlugin, RecoveringPlugin {
    let events: Events
    var name = ""
    var recovers = false
    var isReady = true
    var onPrepare: @Sendable (inout CacheRequest, CallInfo) async throws -> Void = { _, _ in }
    var onProcess: @Sendable (inout ResponseContent) throws -> Void = { _ in }

    func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
        events.append("\(name)prepare \(call.purpose) \(call.number).\(call.attempt)")
        try await onPrepare(&request, call)
    }
    func willSend(_ request: SentRequest, for call: CallInfo) {
        let isValidation = request.head.headerFields.contains(.ifNoneMatch)
        events.append("\(name)willSend\(isValidation ? " validation" : "") \(call.number).\(call.attempt)")
    }
    func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    ) {
        let status = (try? result.get().status.code).map { "\($0)" } ?? "failure"
        events.append("\(name)didReceive \(status) \(call.number).\(call.attempt)")
    }
    func process(_ content: inout ResponseContent, for call: CallInfo) throws {
        events.append("\(name)process \(content.head.status.code)")
        try onProcess(&content)
    }
    func recover(from response: HTTPResponse, to request: CacheRequest, for call: CallInfo) async throws -> Bool {
        events.append("\(name)recover \(response.status.code) \(call.number).\(call.attempt)")
        return recovers
    }
}
