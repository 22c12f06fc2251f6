import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore

/// The engine as a shared cache, with a store in memory and a manual clock: a case takes
/// milliseconds.
final class EngineDoor: CaseDoor {
    private let clock = ManualClock()
    private let store = InMemoryResponseStore()
    private let origin: CaseOrigin
    private let engine: CacheEngine
    private let path: String

    init(origin: CaseOrigin, path: String) {
        self.origin = origin
        self.path = path
        engine = CacheEngine(
            store: store,
            transport: CaseTransport(origin: origin, clock: clock),
            policy: CachePolicy(kind: .shared),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            parts: .init(clock: clock),
            logger: Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    var now: Timestamp { clock.now() }

    func advance(seconds: Int) async { clock.advance(by: .seconds(seconds)) }

    func send(method: String, target: String, fields: WireFields, content: String?) async throws -> DoorResponse {
        guard let method = HTTPRequest.Method(method) else { throw DoorError(message: "'\(method)' is not a method.") }
        var head = HTTPRequest(
            method: method,
            scheme: "http",
            authority: "origin.example",
            path: path + target,
            headerFields: HTTPFields(fields)
        )
        if let content { head.headerFields[.contentLength] = "\(content.utf8.count)" }
        let body = content.map { RequestBody.buffer(ByteBuffer(string: $0)) }
        do {
            let response = try await engine.respond(to: CacheRequest(head: head, body: body))
            let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
            return DoorResponse(
                status: response.head.status.code,
                fields: WireFields(response.head.headerFields),
                content: text,
                interim: []
            )
        } catch let error as ExchangeError {
            return DoorResponse(status: error.status, fields: WireFields(), content: error.message, interim: [])
        }
    }

    func waitForBackground(step: Int) async { await store.waitUntilStored(step: step) }
}

extension InMemoryResponseStore {
    /// Waits until a response that was generated for this step is stored.
    ///
    /// A background fetch has no observer, but its result appears in the store. The bound only
    /// prevents endless waiting for a cache that fetches nothing. It is far longer than a fetch
    /// over sockets takes on a busy machine.
    func waitUntilStored(step: Int) async {
        let end = ContinuousClock.now + .seconds(600)  // a guard
        while ContinuousClock.now < end {  // a guard
            if all.contains(where: { $0.head.fields[.step] == "\(step)" }) { return }
            await Task.yield()
        }
    }
}

/// A request of a case that a door cannot perform.
struct DoorError: Error {
    var message: String
}

/// Takes requests to the case's origin without a connection.
private struct CaseTransport: Transport {
    let origin: CaseOrigin
    let clock: ManualClock

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let fields = WireFields(request.head.headerFields)
        clock.advance(by: .seconds(origin.delay(for: fields)))
        let response = origin.respond(method: request.head.method.rawValue, fields: fields, at: clock.now())
        if response.hangsUp {
            throw TransportError(code: .connectionClosed, message: "The origin closed the connection.")
        }
        return TransportResponse(
            head: HTTPResponse(status: .init(code: response.status), headerFields: HTTPFields(response.fields)),
            body: request.head.method == .head ? .empty : BodyStream(ByteBuffer(string: response.content))
        )
    }
}

extension HTTPField.Name {
    fileprivate static var step: HTTPField.Name? { HTTPField.Name(CaseOrigin.stepField) }
}

extension HTTPFields {
    fileprivate subscript(name: HTTPField.Name?) -> String? { name.flatMap { self[$0] } }

    fileprivate init(_ fields: WireFields) {
        self.init()
        for (name, value) in fields.lines {
            if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
        }
    }
}

extension WireFields {
    fileprivate init(_ fields: HTTPFields) {
        self.init()
        for field in fields { add(field.name.rawName, field.value) }
    }
}
