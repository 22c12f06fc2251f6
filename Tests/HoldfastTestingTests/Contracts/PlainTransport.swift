import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization

/// A minimal transport: a connection for each request, HTTP/1.1 by hand. It can break one rule.
struct PlainTransport: Transport {
    /// The broken rule. The raw value is a part of the sentence of the rule that must detect it.
    enum Mutation: String, CaseIterable, Sendable {
        case sendsTwice = "One call sends one request"
        case normalizesPaths = "The path is sent unchanged"
        case joinsFields = "fields and content arrive"
        case requestsGzip = "No field that changes the response"
        case followsRedirects = "No redirect is followed"
        case retriesOn503 = "Nothing is retried"
        case sortsFields = "Fields arrive in the order"
        case waitsForContentOfNone = "A final response that has no content"
        case returnsInterim = "Interim responses are not returned"
        case gathersBodies = "'send' returns when the head arrives"
        case readsAhead = "If the body is not read"
        case throwsAnotherError = "A refused connection"
        case retriesHangUps = "If the origin closes the connection"
        case retriesHangUpsTwice = "An origin that closes two connections"
        case endsSilently = "A body that breaks off throws"
        case continuesWhenCancelled = "Canceling the calling task"
    }

    var mutation: Mutation?

    init(_ mutation: Mutation? = nil) { self.mutation = mutation }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if mutation == .continuesWhenCancelled {
            return try await Task { try await exchange(request) }.value
        }
        if mutation == .sendsTwice { _ = try? await exchange(request).body.collect(upTo: 1 << 20) }
        var response = try await exchange(
            request,
            retries: mutation == .retriesHangUps ? 1 : mutation == .retriesHangUpsTwice ? 2 : 0
        )
        if mutation == .followsRedirects, response.head.status.code == 302 { response = try await exchange(request) }
        if mutation == .retriesOn503, response.head.status.code == 503 { response = try await exchange(request) }
        if mutation == .sortsFields {
            let sorted = response.head.headerFields.map { $0 }.sorted { $0.name.canonicalName < $1.name.canonicalName }
            response.head.headerFields = HTTPFields(sorted)
        }
        if mutation == .gathersBodies || mutation == .readsAhead {
            response.body = BodyStream(try await response.body.collect(upTo: 1 << 28))
        }
        return response
    }

    private func exchange(_ request: TransportRequest, retries: Int) async throws -> TransportResponse {
        do {
            return try await exchange(request)
        } catch let error as TransportError {
            guard retries > 0, error.code == .connectionClosed else { throw error }
            return try await exchange(request, retries: retries - 1)
        }
    }

    private func exchange(_ request: TransportRequest) async throws -> TransportResponse {
        let connection = try await connect(request.head.authority ?? "")
        do {
            return try await withTaskCancellationHandler {
                try await connection.write(head(of: request))
                if let body = request.body {
                    for try await chunk in body { try await connection.write(chunk) }
                }
                var (head, length) = try await connection.readHead()
                while head.status.code < 200, mutation != .returnsInterim {
                    (head, length) = try await connection.readHead()
                }
                let hasNone = request.head.method == .head || [204, 304].contains(head.status.code)
                if hasNone, mutation != .waitsForContentOfNone { length = .bytes(0) }
                return TransportResponse(head: head, body: body(length, connection))
            } onCancel: {
                connection.close()
            }
        } catch {
            connection.close()
            if Task.isCancelled { throw TransportError(code: .cancelled, message: "The caller gave up.") }
            throw error
        }
    }

    private func connect(_ authority: String) async throws -> PlainConnection {
        let parts = authority.split(separator: ":")
        do {
            return try await PlainConnection(host: String(parts[0]), port: Int(parts[1]) ?? 0)
        } catch {
            if mutation == .throwsAnotherError { throw error }
            throw TransportError(code: .connect, message: "No connection to '\(authority)'.", cause: error)
        }
    }

    private func head(of request: TransportRequest) -> ByteBuffer {
        var path = request.head.path ?? "/"
        if mutation == .normalizesPaths { path = path.lowercased() }
        var text = "\(request.head.method.rawValue) \(path) HTTP/1.1\r\nhost: \(request.head.authority ?? "")\r\n"
        if mutation == .requestsGzip { text += "accept-encoding: gzip\r\n" }
        var fields = request.head.headerFields.map { $0 }
        if mutation == .joinsFields {
            var joined = HTTPFields()
            for field in fields { joined[field.name] = request.head.headerFields[field.name] }
            fields = joined.map { $0 }
        }
        for field in fields { text += "\(field.name.rawName): \(field.value)\r\n" }
        if let length = request.body?.length { text += "content-length: \(length)\r\n" }
        return ByteBuffer(string: text + "\r\n")
    }

    private func body(_ length: PlainConnection.Length, _ connection: PlainConnection) -> BodyStream {
        let isQuiet = mutation == .endsSilently
        return BodyStream {
            // Closes the connection when the stream is released.
            let lifetime = PlainConnection.Lifetime(connection)
            var length = length
            return {
                try await withTaskCancellationHandler {
                    defer { withExtendedLifetime(lifetime) {} }
                    do { return try await connection.readBody(&length) } catch {
                        if isQuiet { return nil }
                        throw error
                    }
                } onCancel: {
                    connection.close()
                }
            }
        }
    }
}

/// One connection, read on demand. Used by one task at a time.
final class PlainConnection: Sendable {
    /// How long a body is.
    enum Length {
        case bytes(Int)
        case chunked(left: Int)
    }

    /// Closes a connection when the last reference is released.
    final class Lifetime: Sendable {
        private let connection: PlainConnection
        init(_ connection: PlainConnection) { self.connection = connection }
        deinit { connection.close() }
    }

    private let channel: any Channel
    private let inbox: NIOLoopBound<Inbox>
    private let buffer = Mutex(ByteBuffer())

    init(host: String, port: Int) async throws {
        (channel, inbox) = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.hours(1))
            .channelOption(.autoRead, value: false)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let inbox = Inbox()
                    try channel.pipeline.syncOperations.addHandler(inbox)
                    return (channel, NIOLoopBound(inbox, eventLoop: channel.eventLoop))
                }
            }
    }

    func close() { channel.close(promise: nil) }

    func write(_ bytes: ByteBuffer) async throws {
        do { try await channel.writeAndFlush(bytes) } catch { throw Self.closed }
    }

    /// The received bytes that were not read yet. Used on its event loop only.
    private final class Inbox: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var arrived: [ByteBuffer] = []
        private var waiting: EventLoopPromise<ByteBuffer>?
        private var isClosed = false

        func next(_ channel: any Channel) -> EventLoopFuture<ByteBuffer> {
            let promise = channel.eventLoop.makePromise(of: ByteBuffer.self)
            if !arrived.isEmpty {
                promise.succeed(arrived.removeFirst())
            } else if isClosed {
                promise.fail(PlainConnection.closed)
            } else {
                waiting = promise
                channel.read()
            }
            return promise.futureResult
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let promise = waiting else { return arrived.append(unwrapInboundIn(data)) }
            waiting = nil
            promise.succeed(unwrapInboundIn(data))
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            if waiting != nil { context.read() }
        }

        func channelInactive(context: ChannelHandlerContext) {
            isClosed = true
            waiting?.fail(PlainConnection.closed)
            waiting = nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private static let closed = TransportError(code: .connectionClosed, message: "The origin hung up.")

    /// More bytes.
    private func fill() async throws {
        let next = try await channel.eventLoop.flatSubmit { [inbox, channel] in inbox.value.next(channel) }.get()
        buffer.withLock { buffer in
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(next)
        }
    }

    private func readLine() async throws -> String {
        while true {
            let line = buffer.withLock { buffer -> String? in
                let view = buffer.readableBytesView
                guard let end = view.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
                return buffer.readString(length: end - view.startIndex + 1)
            }
            if let line { return String(line.unicodeScalars.filter { $0 != "\r" && $0 != "\n" }.map { Character($0) }) }
            try await fill()
        }
    }

    func readHead() async throws -> (HTTPResponse, Length) {
        let code = Int(try await readLine().split(separator: " ").dropFirst().first ?? "") ?? 0
        var fields = HTTPFields()
        while case let line = try await readLine(), !line.isEmpty {
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                continue
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields.append(HTTPField(name: name, value: String(value)))
        }
        let isChunked = fields[.transferEncoding] == "chunked"
        let length = fields[.contentLength].flatMap { Int($0) } ?? 0
        return (
            HTTPResponse(status: .init(code: code), headerFields: fields),
            isChunked ? .chunked(left: 0) : .bytes(length)
        )
    }

    /// The next part of a body; `nil` after the last.
    func readBody(_ length: inout Length) async throws -> ByteBuffer? {
        switch length {
        case .bytes(0):
            return nil
        case .bytes(let left):
            let part = try await take(left)
            length = .bytes(left - part.readableBytes)
            return part
        case .chunked(var left):
            if left == 0 {
                left = Int(try await readLine(), radix: 16) ?? 0
                if left == 0 { return nil }
            }
            let part = try await take(left)
            left -= part.readableBytes
            length = .chunked(left: left)
            if left == 0 { _ = try await readLine() }
            return part
        }
    }

    private func take(_ count: Int) async throws -> ByteBuffer {
        if buffer.withLock({ $0.readableBytes }) == 0 { try await fill() }
        return buffer.withLock { $0.readSlice(length: min(count, $0.readableBytes)) ?? ByteBuffer() }
    }
}
