import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import NIOPosix

@testable import EventLoops
@testable import HTTPWire
@testable import HoldfastGateway

/// The gateway with a client whose protocol sends lists of fields and frames: a ``FrameWriter`` in
/// place of HTTP/1.
final class FrameDoor: CaseDoor {
    let parts: GatewayParts
    private let service: GatewayService
    private let eventLoop: any EventLoop
    private let session: NIOLoopBoundBox<ClientSession>
    private let path: String
    private static let host = "gateway.example"
    /// The addresses that problems may name: the origin's, and the one that the client requests.
    var addresses: [String] { [parts.originAddress, Self.host] }

    init(origin: CaseOrigin, path: String) async throws {
        self.path = path
        parts = try await GatewayParts(origin)
        service = GatewayService(
            configuration: parts.configuration,
            engine: parts.engine,
            instance: 1,
            clock: parts.clock,
            logger: parts.logger
        )
        eventLoop = parts.group.next()
        session = .makeBoxSendingValue(
            ClientSession(
                service: service,
                client: GatewayClient(address: "127.0.0.1"),
                executor: LoopExecutor(eventLoop),
                lookups: DiskLookups(eventLoop),
                telemetry: LoopTelemetry(RequestSeries()),
                hot: HotTable()
            ),
            eventLoop: eventLoop
        )
    }

    var now: Timestamp { parts.clock.now() }

    func advance(seconds: Int) async { parts.clock.advance(by: .seconds(seconds)) }

    func waitForBackground(step: Int) async { await parts.store.waitUntilStored(step: step) }

    func close() async { await parts.close() }

    func send(method: String, target: String, fields: WireFields, content: String?) async throws -> DoorResponse {
        guard let method = HTTPRequest.Method(method) else { throw DoorError(message: "'\(method)' is not a method.") }
        var list = HTTPFields()
        for (name, value) in fields.lines {
            guard let name = HTTPField.Name(name) else { throw DoorError(message: "'\(name)' is not a field name.") }
            list.append(HTTPField(name: name, value: value.bytes))
        }
        let request = GatewayRequest(
            method: method,
            target: path + target,
            authority: RequestedHost(Self.host),
            fields: list,
            receivedProtocol: .http11,
            content: content.map { .length(StatedLength(clamping: $0.bytes.count)) } ?? .none
        )
        let frames = try await eventLoop.flatSubmit { [session, service, eventLoop] in
            let writer = FrameWriter(to: method, service: service, eventLoop: eventLoop)
            let content = PieceContent(content.map { ByteBuffer(bytes: $0.bytes) }, eventLoop: eventLoop)
            ClientExchange(request, of: session.value, content: content, to: writer, in: nil).begin()
            return writer.frames
        }.get()
        return try DoorResponse(frames)
    }
}

extension DoorResponse {
    /// Reads frames: heads of interim responses, one head, pieces, and the end of the stream.
    fileprivate init(_ frames: [FrameWriter.Frame]) throws {
        self.init(status: 0, fields: WireFields(), content: "", interim: [])
        var isComplete = false
        for frame in frames {
            guard !isComplete else { throw DoorError(message: "A frame follows the end of the stream.") }
            switch frame {
            case .head(let status, let fields) where status < 200 && self.status == 0:
                interim.append((status, fields))
            case .head(let status, let fields):
                guard self.status == 0 else { throw DoorError(message: "\(status) follows the final head.") }
                self.status = status
                self.fields = fields
            case .data(let bytes):
                guard status > 0 else { throw DoorError(message: "Content comes before the final head.") }
                content += String(bytes: bytes)
            case .endOfStream:
                isComplete = true
            case .reset:
                throw DoorError(message: "The stream was reset.")
            }
        }
        guard isComplete, status > 0 else { throw DoorError(message: "The response is not complete.") }
    }
}
