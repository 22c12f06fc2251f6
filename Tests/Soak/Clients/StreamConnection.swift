import HTTP2Client

/// A connection of a client of HTTP/2, with many requests at a time. The oracle judges the
/// responses on it.
final class StreamConnection: Conversation {
    private let socket: Socket
    private let session: HTTP2ClientSession
    private let world: World
    private let connectedAt: Moment
    private var place = 0
    /// The requests whose responses have not ended.
    private var waiting: [Int32: (request: ClientRequest, sentAt: Moment)] = [:]
    /// Responses that nothing has read yet.
    private var received: [Int32: ReceivedResponse] = [:]
    private(set) var isOver = false
    /// Bytes per read, and the pause between two, of a reader that is slow.
    var pace: (bytes: Int, pause: Double)?

    /// - Parameter window: bytes of content that the gateway may send before they are read.
    init(_ world: World, window: Int, receiveBuffer: Int32? = nil) throws {
        guard let session = HTTP2ClientSession(window: window) else { throw SocketFailure.broken("no memory") }
        self.world = world
        self.session = session
        connectedAt = Clock.now()
        socket = try Socket(
            port: world.gatewayPort,
            patience: ClientConnection.patience,
            receiveBuffer: receiveBuffer
        )
    }

    // MARK: Sending

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - piece: the most bytes of a DATA frame.
    ///   - isHeld: whether the content waits for ``release(_:)``.
    /// - Returns: the stream; `nil` if the connection takes no more.
    @discardableResult
    func begin(_ request: ClientRequest, piece: Int = .max, isHeld: Bool = false) -> Int32? {
        guard !isOver else { return nil }
        var request = request
        // Its clients have no such version, and connections outlast each request.
        request.isHTTP10 = false
        request.isHTTP2 = true
        let upload = request.content.map { HTTP2Upload($0, piece: piece, isHeld: isHeld) }
        let sentAt = Clock.now()
        do {
            let stream = try session.request(request.fieldList, upload)
            waiting[stream] = (request, sentAt)
            return stream
        } catch {
            // The gateway said that it takes no more. The oracle knows whether it may.
            isOver = true
            judge(request, sentAt, .ended("no stream can begin, error \(session.endCode ?? 0): \(error)"))
            return nil
        }
    }

    /// Sends the content that was held back.
    func release(_ stream: Int32) {
        session.release(stream)
        flush()
    }

    /// Gives up a request, whose response is not judged.
    func cancel(_ stream: Int32) {
        guard waiting.removeValue(forKey: stream) != nil else { return }
        session.cancel(stream)
        flush()
        _ = session.take(stream)
    }

    /// Writes what is to be sent.
    func flush() {
        do {
            let bytes = try session.takeOutput()
            // The gateway may have responded and closed before it took all: the response decides.
            if !bytes.isEmpty { try? socket.write(bytes) }
        } catch {
            endAll(.malformed("\(error)"))
        }
    }

    /// Writes a part of what is to be sent, and breaks off.
    func flushAndReset(_ share: Double) {
        let bytes = (try? session.takeOutput()) ?? []
        try? socket.write(Array(bytes.prefix(Int(Double(bytes.count) * share))))
        reset()
    }

    /// Resets the connection: requests under way on it are not judged.
    func reset() {
        isOver = true
        waiting = [:]
        socket.resetAtEnd()
    }

    // MARK: Reading

    @discardableResult
    func exchange(_ request: ClientRequest) -> ReceivedResponse? {
        begin(request).flatMap { response(on: $0) }
    }

    /// Reads until the response on a stream has ended; others end meanwhile.
    @discardableResult
    func response(on stream: Int32) -> ReceivedResponse? {
        flush()
        while waiting[stream] != nil { step() }
        return received.removeValue(forKey: stream)
    }

    /// Reads the responses to all that was sent.
    func readAll() {
        flush()
        while !waiting.isEmpty { step() }
        received = [:]
    }

    /// Waits so long for something to read, and takes it.
    func listen(_ seconds: Double) {
        flush()
        if !waiting.isEmpty, (try? socket.wait(seconds)) ?? true { step() }
    }

    private func step() {
        do {
            if socket.available == 0 { try socket.receive() }
            let bytes = socket.some(pace?.bytes ?? socket.available)
            if let pace { Clock.pause(pace.pause) }
            try session.receive(bytes)
            flush()
        } catch SocketFailure.timedOut {
            return endAll(.timedOut)
        } catch let failure as SocketFailure {
            let how = failure == .closed ? "the connection was closed" : "\(failure)"
            return endAll(.ended(how + (session.endCode.map { ", error \($0)" } ?? "")))
        } catch {
            return endAll(.malformed("\(error)"))
        }
        let now = Clock.now()
        for (stream, sent) in waiting {
            guard let response = session.responses[stream], !response.isOver else {
                end(stream, ObservedExchange.Result(session.take(stream)))
                continue
            }
            // Other streams may keep the connection busy.
            if now - sent.sentAt > 2 * ClientConnection.patience { end(stream, .timedOut) }
        }
    }

    private func endAll(_ result: ObservedExchange.Result) {
        isOver = true
        for stream in waiting.keys { end(stream, result) }
    }

    private func end(_ stream: Int32, _ result: ObservedExchange.Result) {
        guard let (request, sentAt) = waiting.removeValue(forKey: stream) else { return }
        if case .response(let response) = result { received[stream] = response }
        judge(request, sentAt, result)
    }

    private func judge(_ request: ClientRequest, _ sentAt: Moment, _ result: ObservedExchange.Result) {
        world.judge(
            ObservedExchange(
                request: request,
                sentAt: sentAt,
                endedAt: Clock.now(),
                connectedAt: connectedAt,
                result: result,
                place: place
            )
        )
        place += 1
    }
}

extension ObservedExchange.Result {
    fileprivate init(_ response: HTTP2Response?) {
        guard let response else {
            self = .ended("the stream is unknown")
            return
        }
        if let problem = response.problem {
            self = .malformed(problem)
        } else if let failure = response.failure {
            self = .ended("the stream was \(failure)")
        } else {
            self = .response(ReceivedResponse(response))
        }
    }
}

extension ReceivedResponse {
    fileprivate init(_ response: HTTP2Response) {
        self.init(
            status: response.status,
            fields: response.fields.map { ($0.name, $0.text) },
            content: response.content,
            interim: response.interim.map { Interim(status: $0.status, fields: $0.fields.map { ($0.name, $0.text) }) }
        )
    }
}

extension ClientRequest {
    /// The fields that HTTP/2 has: those of a connection are none of it. RFC 9113 §8.2.2
    fileprivate var fieldList: [HTTP2Field] {
        var list = [
            HTTP2Field(":method", method), HTTP2Field(":scheme", "http"), HTTP2Field(":path", resource.target),
            HTTP2Field(":authority", "soak.test"), HTTP2Field("x-soak-number", number),
        ]
        for field in fields where field.name != "Connection" {
            list.append(HTTP2Field(field.name.lowercased(), field.value))
        }
        if let content, !isChunked { list.append(HTTP2Field("content-length", "\(content.count)")) }
        return list
    }
}
