import HTTPCache
import HTTPCacheSemantics
import HoldfastGateway
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// The gateway between two sockets, on a clock that is moved.
final class WireDoor: CaseDoor {
    let parts: GatewayParts
    private let server: GatewayServer
    private let address: ListenAddress
    /// The addresses that problems may name: the origin's, and the one that the client requests.
    var addresses: [String] { [parts.originAddress, "\(address)"] }
    private let path: String
    private let connection = Mutex<WireConnection?>(nil)

    init(origin: CaseOrigin, path: String) async throws {
        self.path = path
        parts = try await GatewayParts(origin)
        server = parts.makeServer()
        address = try await server.start()
    }

    var now: Timestamp { parts.clock.now() }

    func advance(seconds: Int) async { parts.clock.advance(by: .seconds(seconds)) }

    func waitForBackground(step: Int) async { await parts.store.waitUntilStored(step: step) }

    /// Ends everything that this door began.
    func close() async {
        try? await connection.withLock { $0.take() }?.channel.close()
        await server.stop()
        await parts.close()
    }

    func send(method: String, target: String, fields: WireFields, content: String?) async throws -> DoorResponse {
        var text = "\(method) \(path + target) HTTP/1.1\r\nHost: \(address)\r\n"
        for (name, value) in fields.lines { text += "\(name): \(value)\r\n" }
        if let content { text += "Content-Length: \(content.bytes.count)\r\n" }
        text += "\r\n" + (content ?? "")
        let connection = try await connected()
        try await connection.channel.writeAndFlush(ByteBuffer(bytes: text.bytes))
        var interim: [(status: Int, fields: WireFields)] = []
        while let bytes = await connection.inbox.takeHead() {
            let head = MessageHead(bytes: bytes)
            guard head.start.count > 1, let status = Int(head.start[1]) else { break }
            guard status >= 200 else {
                interim.append((status, head.fields))
                continue
            }
            let content = try await self.content(of: head, status, to: method, connection.inbox)
            if head.fields.joined("Connection")?.lowercased() == "close" {
                self.connection.withLock { $0 = nil }
                try? await connection.channel.close()
            }
            await parts.waitForFills()
            return DoorResponse(status: status, fields: head.fields, content: content, interim: interim)
        }
        throw DoorError(message: "The gateway sent no response.")
    }

    private func content(
        of head: MessageHead,
        _ status: Int,
        to method: String,
        _ inbox: ByteInbox
    ) async throws -> String {
        if method == "HEAD" || status == 204 || status == 304 { return "" }
        let bytes: [UInt8]?
        if head.fields.joined("Transfer-Encoding") != nil {
            bytes = await inbox.takeChunks()
        } else if let length = head.fields.joined("Content-Length").flatMap({ Int($0) }) {
            bytes = await inbox.take(length)
        } else {
            bytes = await inbox.takeRest()
        }
        guard let bytes else { throw DoorError(message: "The content broke off.") }
        return String(bytes: bytes)
    }

    private func connected() async throws -> WireConnection {
        if let known = connection.withLock({ $0 }), known.channel.isActive { return known }
        let opened = try await WireConnection.open(address)
        connection.withLock { $0 = opened }
        return opened
    }
}
