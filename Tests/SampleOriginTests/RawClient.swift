import NIOCore
import NIOPosix
import SampleOrigin

/// The bytes of one connection until the origin closed it.
struct ReceivedResponse {
    let status: Int
    let fields: [(name: String, value: String)]
    /// The bytes after the head, still chunked if they were.
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body, its chunks put together; cut bytes are missing.
    var content: [UInt8] {
        guard self["Transfer-Encoding"] == "chunked" else { return body }
        var content: [UInt8] = []
        var rest = body[...]
        while let end = rest.firstIndex(of: 13),
            let length = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16)
        {
            rest = rest[end...].dropFirst(2)
            content += rest.prefix(length)
            rest = rest.dropFirst(length + 2)
        }
        return content
    }

    subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// A client that adds nothing, removes nothing and interprets as little of HTTP as possible.
enum RawClient {
    enum Failure: Error, Equatable {
        case closedWithoutAnswer
        case unexpectedLength(Int)
    }

    /// Sends one request and reads until the connection is closed.
    static func send(
        _ method: String,
        _ target: String,
        fields: [(String, String)] = [],
        body: String = "",
        to origin: RunningOrigin
    ) async throws -> ReceivedResponse {
        try await send(method, target, fields: fields, body: Array(body.utf8), to: origin)
    }

    static func send(
        _ method: String,
        _ target: String,
        fields: [(String, String)] = [],
        body: [UInt8],
        to origin: RunningOrigin
    ) async throws -> ReceivedResponse {
        var request = "\(method) \(target) HTTP/1.1\r\nHost: \(origin.authority)\r\nConnection: close\r\n"
        for (name, value) in fields { request += "\(name): \(value)\r\n" }
        if !body.isEmpty { request += "Content-Length: \(body.count)\r\n" }
        return try await send(raw: Array((request + "\r\n").utf8) + body, to: origin)
    }

    static func get(
        _ target: String,
        fields: [(String, String)] = [],
        to origin: RunningOrigin
    ) async throws -> ReceivedResponse {
        try await send("GET", target, fields: fields, to: origin)
    }

    static func send(raw request: String, to origin: RunningOrigin) async throws -> ReceivedResponse {
        try await send(raw: Array(request.utf8), to: origin)
    }

    static func send(raw request: [UInt8], to origin: RunningOrigin) async throws -> ReceivedResponse {
        let received = try await withConnection(to: origin) { inbound, outbound in
            try await outbound.write(ByteBuffer(bytes: request))
            var received: [UInt8] = []
            for try await part in inbound { received.append(contentsOf: part.readableBytesView) }
            return received
        }
        return try parse(received)
    }

    static func withConnection<Value: Sendable>(
        to origin: RunningOrigin,
        _ body:
            @Sendable (NIOAsyncChannelInboundStream<ByteBuffer>, NIOAsyncChannelOutboundWriter<ByteBuffer>) async throws
            -> Value
    ) async throws -> Value {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // A busy machine may take longer than the ten seconds of NIO.
            .connectTimeout(.hours(1))
            .connect(host: "127.0.0.1", port: origin.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in try await body(inbound, outbound) }
    }

    /// Sends one request and reads the response step by step. Each step gets all bytes after the
    /// head so far.
    static func read(
        _ target: String,
        to origin: RunningOrigin,
        until lengths: [Int],
        then step: @Sendable (Int) async throws -> Void
    ) async throws -> [UInt8] {
        try await withConnection(to: origin) { inbound, outbound in
            try await outbound.write(
                ByteBuffer(string: "GET \(target) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            )
            var received: [UInt8] = []
            var iterator = inbound.makeAsyncIterator()
            var body: [UInt8] { (try? parse(received).body) ?? [] }
            for length in lengths {
                while body.count < length, let part = try await iterator.next() {
                    received.append(contentsOf: part.readableBytesView)
                }
                // No more may have arrived: the rest waits behind a gate.
                guard body.count == length else { throw Failure.unexpectedLength(body.count) }
                try await step(length)
            }
            while let part = try await iterator.next() { received.append(contentsOf: part.readableBytesView) }
            return body
        }
    }

    private static func parse(_ received: [UInt8]) throws -> ReceivedResponse {
        guard !received.isEmpty else { throw Failure.closedWithoutAnswer }
        let end = received.indices.first { received[$0...].starts(with: Array("\r\n\r\n".utf8)) } ?? received.count
        let lines = String(decoding: received[..<end], as: UTF8.self).split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: String(parts[0]), value: String(parts[1].drop { $0 == " " }))
        }
        return ReceivedResponse(status: status, fields: fields, body: Array(received.dropFirst(end + 4)))
    }
}
