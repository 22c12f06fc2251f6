import HTTP2Client
import HTTPCacheSemantics
import HoldfastGateway
import HoldfastTesting
import NIOCore

/// The gateway between two sockets, with a client of HTTP/2: one connection with prior knowledge,
/// and a stream for each request.
actor HTTP2Door: CaseDoor {
    nonisolated let parts: GatewayParts
    private let server: GatewayServer
    private let address: ListenAddress
    /// The addresses that problems may name: the origin's, and the one that the client requests.
    nonisolated var addresses: [String] { [parts.originAddress, "\(address)"] }
    private let path: String
    private let session: HTTP2ClientSession
    private var connection: WireConnection?

    init(origin: CaseOrigin, path: String) async throws {
        guard let session = HTTP2ClientSession() else { throw DoorError(message: "There is no memory.") }
        self.session = session
        self.path = path
        parts = try await GatewayParts(origin)
        server = parts.makeServer()
        address = try await server.start()
    }

    nonisolated var now: Timestamp { parts.clock.now() }

    nonisolated func advance(seconds: Int) async { parts.clock.advance(by: .seconds(seconds)) }

    nonisolated func waitForBackground(step: Int) async { await parts.store.waitUntilStored(step: step) }

    /// Ends everything that this door began.
    func close() async {
        try? await connection?.channel.close()
        await server.stop()
        await parts.close()
    }

    func send(method: String, target: String, fields: WireFields, content: String?) async throws -> DoorResponse {
        var list = [
            HTTP2Field(":method", method), HTTP2Field(":scheme", "http"), HTTP2Field(":path", path + target),
            HTTP2Field(":authority", "\(address)"),
        ]
        list += fields.lines.map(HTTP2Field.init(line:))
        if let content { list.append(HTTP2Field("content-length", "\(content.bytes.count)")) }
        let stream = try session.request(list, content.map { HTTP2Upload($0.bytes) })
        // All steps are on one connection: the gateway has no reason to end it.
        let connection = try await connected()
        while session.responses[stream]?.isOver == false {
            try await sendOutput(on: connection)
            guard session.responses[stream]?.isOver == false else { break }
            guard let bytes = await connection.inbox.takeSome() else {
                throw DoorError(message: "The gateway closed the connection, error \(session.endCode ?? 0).")
            }
            try session.receive(bytes)
        }
        try await sendOutput(on: connection)
        guard let response = session.take(stream) else { throw DoorError(message: "The stream is lost.") }
        if let failure = response.failure { throw DoorError(message: "The stream ended early: \(failure).") }
        await parts.waitForFills()
        return DoorResponse(
            status: response.status,
            fields: WireFields(response.fields),
            content: String(bytes: response.content),
            interim: response.interim.map { ($0.status, WireFields($0.fields)) }
        )
    }

    private func sendOutput(on connection: WireConnection) async throws {
        let bytes = try session.takeOutput()
        if !bytes.isEmpty { try await connection.channel.writeAndFlush(ByteBuffer(bytes: bytes)) }
    }

    private func connected() async throws -> WireConnection {
        if let connection { return connection }
        let opened = try await WireConnection.open(address)
        connection = opened
        return opened
    }
}

extension HTTP2Field {
    /// A line of HTTP/1: names are in lower case, and no white space surrounds the value. RFC 9113
    /// §8.2
    fileprivate init(line: (name: String, value: String)) {
        let value = line.value.bytes.drop(while: \.isBlank).reversed().drop(while: \.isBlank).reversed()
        self.init(name: line.name.lowercased(), value: Array(value))
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension WireFields {
    fileprivate init(_ fields: [HTTP2Field]) {
        self.init()
        for field in fields { add(field.name, String(bytes: field.value)) }
    }
}
