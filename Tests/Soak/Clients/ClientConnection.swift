/// A connection of a client of HTTP/1.1 to the gateway. The oracle judges the responses on it.
final class ClientConnection: Conversation {
    let socket: Socket
    private let world: World
    private let connectedAt: Moment
    private var place = 0
    /// Its number in a recording.
    private let number: Int
    /// The requests that were sent and have no response yet.
    private var waiting: [(request: ClientRequest, sentAt: Moment)] = []
    /// Whether the gateway announced that it closes, or closed.
    private(set) var isOver = false
    var pace: (bytes: Int, pause: Double)?

    /// Seconds until a response is treated as missing.
    static let patience = 30.0

    init(_ world: World, receiveBuffer: Int32? = nil) throws {
        self.world = world
        connectedAt = Clock.now()
        number = world.recorder?.addConnection() ?? 0
        socket = try Socket(port: world.gatewayPort, patience: Self.patience, receiveBuffer: receiveBuffer)
    }

    /// Writes pieces, each with one call, and notes the requests that they are.
    func send(_ pieces: [[UInt8]], _ requests: [ClientRequest], pauses: [Double] = []) throws {
        let now = Clock.now()
        waiting += requests.map { ($0, now) }
        world.recorder?.record(requests, pieces, on: number)
        for (index, piece) in pieces.enumerated() {
            if index > 0 { Clock.pause(index <= pauses.count ? pauses[index - 1] : 0) }
            do {
                try socket.write(piece)
            } catch {
                // The gateway may have responded and closed before it took all: the response
                // decides.
                return
            }
        }
    }

    /// Sends a request whole, and reads its response.
    @discardableResult
    func exchange(_ request: ClientRequest) throws -> ReceivedResponse? {
        try send([request.bytes], [request])
        return readResponse()
    }

    /// Reads the responses to all that was sent.
    func readAll() {
        while !waiting.isEmpty, readResponse() != nil, !isOver {}
    }

    /// Reads the response to the oldest waiting request, and passes it to the oracle.
    ///
    /// - Returns: `nil` if there is none.
    @discardableResult
    func readResponse(interim: (() -> Void)? = nil) -> ReceivedResponse? {
        guard !waiting.isEmpty, !isOver else { return nil }
        let (request, sentAt) = waiting.removeFirst()
        var exchange = ObservedExchange(
            request: request,
            sentAt: sentAt,
            endedAt: 0,
            connectedAt: connectedAt,
            result: .timedOut,
            place: place,
            behind: waiting.count
        )
        do {
            exchange.result = .response(try response(to: request, interim))
        } catch SocketFailure.timedOut {
            exchange.result = .timedOut
        } catch let failure as SocketFailure {
            exchange.result = .ended(failure == .closed ? "the connection was closed" : "\(failure)")
        } catch let malformed as MessageReader.Malformed {
            exchange.result = .malformed(malformed.how)
        } catch {
            exchange.result = .malformed("\(error)")
        }
        exchange.endedAt = Clock.now()
        place += 1
        var received: ReceivedResponse?
        if case .response(let response) = exchange.result { received = response }
        isOver = isOver || received == nil
        world.judge(exchange)
        return received
    }

    private func response(to request: ClientRequest, _ onInterim: (() -> Void)?) throws -> ReceivedResponse {
        var reader = MessageReader(socket)
        reader.pace = pace
        var interim: [ReceivedResponse.Interim] = []
        while true {
            let head = try reader.head()
            let words = head.line.split(separator: " ", maxSplits: 2)
            guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].count == 3, let status = Int(words[1])
            else {
                throw MessageReader.Malformed(how: "the status line '\(head.line.prefix(120))'")
            }
            if status < 200 {
                interim.append(ReceivedResponse.Interim(status: status, fields: head.fields))
                onInterim?()
                continue
            }
            var response = ReceivedResponse(status: status, fields: head.fields, interim: interim)
            let hasContent = request.method != "HEAD" && status != 304 && status != 204
            let isDelimited = head.isChunked || head["content-length"] != nil
            if head["connection"]?.lowercased() == "close" || request.closes || (hasContent && !isDelimited) {
                isOver = true
            }
            if hasContent { response.content = try reader.content(head, endsWithConnection: true) }
            return response
        }
    }

    /// Resets the connection: requests under way on it are not judged.
    func reset() {
        isOver = true
        waiting = []
        socket.resetAtEnd()
    }
}

extension ClientRequest {
    /// The head and the whole content, if there is any.
    var bytes: [UInt8] { head + framed }

    var head: [UInt8] {
        var text = "\(method) \(resource.target) HTTP/1.\(isHTTP10 ? 0 : 1)\r\nHost: soak.test\r\n"
        text += "X-Soak-Number: \(number)\r\n"
        for field in fields { text += "\(field.name): \(field.value)\r\n" }
        if let content { text += isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(content.count)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    var framed: [UInt8] {
        guard let content else { return [] }
        guard isChunked else { return content }
        return content.chunked(at: content.count / 3)
    }
}
