import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

/// A response as received, with its content decoded from the framing.
struct RawResponse: Sendable {
    var status: Int
    /// The status line.
    var line: String
    /// Names in their case, values as bytes.
    var fields: [(name: String, value: [UInt8])]
    var content: [UInt8]
    /// The lines behind the last chunk.
    var trailers: [String] = []
    /// Whether the content ended as its framing states, and not with the connection.
    var isComplete: Bool

    var text: String { String(decoding: content, as: UTF8.self) }

    /// All values of a name, with commas between them.
    subscript(name: String) -> String? {
        let values = fields.filter { $0.name.lowercased() == name.lowercased() }
            .map { String(decoding: $0.value, as: UTF8.self) }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

extension RawResponse: CustomTestStringConvertible {
    /// It leaves out the content, which may be megabytes: a failing test prints all of its values.
    var testDescription: String { "'\(line)', \(content.count) bytes, \(isComplete ? "complete" : "cut short")" }
}

/// A connection that sends raw bytes, and understands just enough HTTP to tell responses apart.
///
/// It reads only while a caller waits, so that it can be a slow reader.
final class RawClient: Sendable {
    enum Failure: Error {
        /// The connection ended where a response was expected.
        case closed(received: String)
        case noResponse(String)
    }

    private let channel: any Channel
    private let inbox: RawInbox

    private init(channel: any Channel, inbox: RawInbox) {
        self.channel = channel
        self.inbox = inbox
    }

    /// Connects, and closes after the body.
    ///
    /// - Parameters:
    ///   - receiveBuffer: the bytes that the system buffers for a client that does not read; `nil`:
    ///     the system's default.
    ///   - closesAtEnd: whether it closes as soon as the server sends no more.
    static func with<Value>(
        host: String = "127.0.0.1",
        port: Int,
        receiveBuffer: Int? = nil,
        closesAtEnd: Bool = true,
        tls: TLS? = nil,
        _ body: (RawClient) async throws -> Value
    ) async throws -> Value {
        try await connect(
            receiveBuffer: receiveBuffer,
            closesAtEnd: closesAtEnd,
            tls: tls,
            { try await $0.connect(host: host, port: port).get() },
            body
        )
    }

    /// TLS of a connection.
    struct TLS: Sendable {
        var context: NIOSSLContext
        /// The name that it sends; `nil`: none.
        var name: String?
        /// Sees the bytes of TLS before they are sent.
        var below: (@Sendable () -> any ChannelHandler)?

        init(_ context: NIOSSLContext, name: String? = nil, below: (@Sendable () -> any ChannelHandler)? = nil) {
            self.context = context
            self.name = name
            self.below = below
        }
    }

    /// The same through a Unix socket.
    static func with<Value>(path: String, _ body: (RawClient) async throws -> Value) async throws -> Value {
        try await connect({ try await $0.connect(unixDomainSocketPath: path).get() }, body)
    }

    private static func connect<Value>(
        receiveBuffer: Int? = nil,
        closesAtEnd: Bool = true,
        tls: TLS? = nil,
        _ connect: (ClientBootstrap) async throws -> any Channel,
        _ body: (RawClient) async throws -> Value
    ) async throws -> Value {
        let inbox = RawInbox()
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // A busy machine may take longer than the ten seconds of NIO.
            .connectTimeout(.hours(1))
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: !closesAtEnd)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        if let below = tls.below { try channel.pipeline.syncOperations.addHandler(below()) }
                        let handler = try NIOSSLClientHandler(context: tls.context, serverHostname: tls.name)
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(RawInboxHandler(inbox: inbox))
                }
            }
        if let receiveBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer))
        }
        let channel = try await connect(bootstrap)
        // The handshake needs what the peer sends. TLS reads on until it has bytes for others.
        if tls != nil { channel.read() }
        let client = RawClient(channel: channel, inbox: inbox)
        do {
            let value = try await body(client)
            try? await channel.close()
            return value
        } catch {
            try? await channel.close()
            throw error
        }
    }

    /// One request on a connection of its own; the connection is closed after the response.
    static func send(_ request: String, to port: Int) async throws -> RawResponse {
        try await with(port: port) { client in
            try await client.send(request)
            return try await client.response(isHead: request.hasPrefix("HEAD "))
        }
    }

    func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Begins TLS on a connection that began without it.
    func startTLS(_ tls: TLS) async throws {
        try await channel.eventLoop.submit { [channel] in
            let handler = try NIOSSLClientHandler(context: tls.context, serverHostname: tls.name)
            try channel.pipeline.syncOperations.addHandler(handler, position: .first)
        }.get()
        // The handshake needs what the peer sends.
        channel.read()
    }

    /// Closes its sending side, and continues to read.
    func closeOutput() async throws {
        try await channel.close(mode: .output)
    }

    /// The server's certificate; `nil` before the handshake is completed.
    func peerCertificate() async throws -> NIOSSLCertificate? { try await channel.nioSSL_peerCertificate().get() }

    /// Whether the peer closed TLS without its alert.
    var isCutShort: Bool { inbox.isCutShort }

    /// Whether the peer closed or reset the connection without the alert of TLS.
    var hasNoAlert: Bool { inbox.isCutShort || inbox.isReset }

    /// Cuts the bytes that follow: a ``CuttingHandler`` is below TLS.
    func cutNext(at place: Int) async throws {
        try await channel.eventLoop.submit { [channel] in
            try channel.pipeline.syncOperations.handler(type: CuttingHandler.self).place = place
        }.get()
    }

    /// Sends bytes that TLS has not made.
    func sendBelowTLS(_ bytes: [UInt8]) async throws {
        try await channel.eventLoop.flatSubmit { [channel] in
            let promise = channel.eventLoop.makePromise(of: Void.self)
            do {
                try channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
                    .writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: promise)
            } catch {
                promise.fail(error)
            }
            return promise.futureResult
        }.get()
    }

    /// Closes its sending side without the alert of TLS, and continues to read.
    func shutDownSocket() async throws {
        try await channel.eventLoop.flatSubmit { [channel] in
            let promise = channel.eventLoop.makePromise(of: Void.self)
            do {
                try channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
                    .close(mode: .output, promise: promise)
            } catch {
                promise.fail(error)
            }
            return promise.futureResult
        }.get()
    }

    /// Closes the connection so that the peer notices.
    func reset() async {
        channel.reset()
        try? await channel.closeFuture.get()
    }

    /// The next bytes, at least one; `nil` when the peer has closed, or the task is canceled.
    func read() async -> [UInt8]? {
        if let bytes = inbox.take() { return bytes }
        channel.read()
        return await inbox.next()
    }

    /// All bytes until the peer closes.
    func readToEnd() async -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = await read() { all += bytes }
        return all
    }

    /// The next response, interim ones too.
    ///
    /// - Parameter isHead: whether the request was a HEAD. Then there is no content, whatever the
    ///   head states.
    func response(isHead: Bool = false) async throws -> RawResponse {
        var received: [UInt8] = []
        var parser = RawResponseParser(isHead: isHead)
        while true {
            if let (response, used) = parser.parse(received, isClosed: false) {
                inbox.putBack(Array(received[used...]))
                return response
            }
            guard let bytes = await read() else {
                if let (response, _) = parser.parse(received, isClosed: true) { return response }
                throw Failure.closed(received: String(decoding: received, as: UTF8.self))
            }
            received += bytes
        }
    }
}

/// The bytes received, and the tasks that wait for them.
private final class RawInbox: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isClosed = false
        var isCutShort = false
        var isReset = false
        var waiting: CheckedContinuation<[UInt8]?, Never>?
    }

    private let state = Mutex(State())

    var isCutShort: Bool { state.withLock { $0.isCutShort } }

    var isReset: Bool { state.withLock { $0.isReset } }

    func reset() { state.withLock { $0.isReset = true } }

    func cutShort() { state.withLock { $0.isCutShort = true } }

    func take() -> [UInt8]? {
        state.withLock { state in
            guard !state.bytes.isEmpty else { return nil }
            defer { state.bytes = [] }
            return state.bytes
        }
    }

    func putBack(_ bytes: [UInt8]) {
        state.withLock { $0.bytes = bytes + $0.bytes }
    }

    func next() async -> [UInt8]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready: [UInt8]?? = state.withLock { state in
                    if !state.bytes.isEmpty {
                        defer { state.bytes = [] }
                        return .some(state.bytes)
                    }
                    if state.isClosed || Task.isCancelled { return .some(nil) }
                    state.waiting = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            state.withLock { $0.waiting.take() }?.resume(returning: nil)
        }
    }

    func received(_ bytes: [UInt8]) {
        let waiting = state.withLock { state -> CheckedContinuation<[UInt8]?, Never>? in
            guard let waiting = state.waiting.take() else {
                state.bytes += bytes
                return nil
            }
            return waiting
        }
        waiting?.resume(returning: bytes)
    }

    func closed() {
        state.withLock { state in
            state.isClosed = true
            return state.waiting.take()
        }?.resume(returning: nil)
    }
}

private final class RawInboxHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let inbox: RawInbox

    init(inbox: RawInbox) {
        self.inbox = inbox
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        inbox.received(Array(unwrapInboundIn(data).readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.closed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? NIOSSLError, case .uncleanShutdown = error { inbox.cutShort() }
        if (error as? IOError)?.errnoCode == ECONNRESET { inbox.reset() }
        context.close(promise: nil)
    }
}

/// Just enough of HTTP/1 to find a response's end.
private struct RawResponseParser {
    let isHead: Bool

    init(isHead: Bool) {
        self.isHead = isHead
    }

    mutating func parse(_ bytes: [UInt8], isClosed: Bool) -> (RawResponse, used: Int)? {
        guard let headEnd = end(of: "\r\n\r\n", in: bytes, from: 0) else { return nil }
        let lines = split(Array(bytes[..<(headEnd - 4)]))
        let line = String(decoding: lines.first ?? [], as: UTF8.self)
        var response = RawResponse(
            status: line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0,
            line: line,
            fields: lines.dropFirst().map { line in
                let name = line.prefix { $0 != UInt8(ascii: ":") }
                let value = line.dropFirst(name.count + 1).drop { $0 == 0x20 }
                return (String(decoding: name, as: UTF8.self), Array(value))
            },
            content: [],
            isComplete: true
        )
        if isHead || response.status < 200 || response.status == 204 || response.status == 304 {
            return (response, headEnd)
        }
        if response["Transfer-Encoding"] == "chunked" {
            var position = headEnd
            while let sizeEnd = end(of: "\r\n", in: bytes, from: position) {
                let size = Int(String(decoding: bytes[position..<(sizeEnd - 2)], as: UTF8.self), radix: 16) ?? 0
                guard bytes.count >= sizeEnd + size + 2 else { break }
                response.content += bytes[sizeEnd..<(sizeEnd + size)]
                if size == 0 {
                    guard let end = trailersEnd(&response, bytes, from: sizeEnd) else { break }
                    return (response, end)
                }
                position = sizeEnd + size + 2
            }
        } else if let length = response["Content-Length"].flatMap({ Int($0) }) {
            if bytes.count - headEnd >= length {
                response.content = Array(bytes[headEnd..<(headEnd + length)])
                return (response, headEnd + length)
            }
            response.content = Array(bytes[headEnd...])
        } else {
            response.content = Array(bytes[headEnd...])
            return isClosed ? (response, bytes.count) : nil
        }
        guard isClosed else { return nil }
        response.isComplete = false
        return (response, bytes.count)
    }

    /// Reads the lines behind the last chunk; `nil` if some are missing.
    private func trailersEnd(_ response: inout RawResponse, _ bytes: [UInt8], from start: Int) -> Int? {
        var (place, lines): (Int, [String]) = (start, [])
        while let next = end(of: "\r\n", in: bytes, from: place) {
            if next == place + 2 {
                response.trailers = lines
                return next
            }
            lines.append(String(decoding: bytes[place..<(next - 2)], as: UTF8.self))
            place = next
        }
        return nil
    }

    private func end(of text: String, in bytes: [UInt8], from start: Int) -> Int? {
        let wanted = Array(text.utf8)
        guard bytes.count >= start + wanted.count else { return nil }
        return (start...(bytes.count - wanted.count))
            .first { bytes[$0..<($0 + wanted.count)].elementsEqual(wanted) }
            .map { $0 + wanted.count }
    }

    private func split(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0.filter { $0 != 0x0D }) }
    }
}
