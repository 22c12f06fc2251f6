/// One connection of the gateway to an origin: reads requests, and responds as their resources
/// specify.
struct OriginConnection {
    let world: World
    private let socket: Socket
    private let reader: MessageReader
    private var random: SeededGenerator

    init(_ socket: Socket, number: Int, world: World) {
        self.socket = socket
        self.world = world
        reader = MessageReader(socket)
        random = SeededGenerator(seed: world.seed, parts: 0x0419, UInt64(number))
    }

    /// Until either side has enough.
    mutating func serve() {
        do {
            while let request = try read() {
                guard try respond(to: request) else { return }
            }
        } catch let malformed as MessageReader.Malformed {
            world.report(
                Finding(rule: .malformed, expected: "a request at the origin, by RFC 9112", got: malformed.how)
            )
        } catch {
            // The gateway or the harness closed the connection.
        }
    }

    /// The requests by which a gateway looks whether an origin that hung up serves other targets.
    private static let probes = ["HEAD / HTTP/1.1", "HEAD /robots.txt HTTP/1.1"]

    private func read() throws -> OriginRequest? {
        var head = try reader.head()
        while Self.probes.contains(head.line) {
            try socket.write(Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8))
            head = try reader.head()
        }
        let words = head.line.split(separator: " ")
        guard words.count == 3, let resource = Resource(String(words[1])) else {
            throw MessageReader.Malformed(how: "'\(head.line.prefix(200))'")
        }
        if head["expect"] != nil { try socket.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
        let content = try reader.content(head, endsWithConnection: false)
        return OriginRequest(method: String(words[0]), resource: resource, head: head, content: content)
    }

    /// - Returns: whether the connection can take another request.
    private mutating func respond(to request: OriginRequest) throws -> Bool {
        let resource = request.resource
        let changes = request.isUnsafe && !resource.isUnique || resource.changesAlways
        let version = changes ? world.change(resource) : world.version(resource)
        let representation = world.representation(resource, version: version, selector: request.selector)
        // A change may happen between the lookup and the response; the cache must handle that.
        if resource.isHonest, random.chance(0.1) { Clock.pause(Double(random.number(1...30)) / 1_000) }
        var response = OriginResponse(representation, to: request)
        let now = Clock.now()
        world.tell {
            let confirms = !request.isUnsafe && (request.method == "GET" || resource.hasValidators)
            let what = "\(request.method), \(response.status)"
            let name = History.Name(version: version, selector: request.selector)
            $0.originSends(resource, name, confirms: confirms, as: what, at: now)
        }
        switch resource.kind {
        case .lie where request.method == "GET" && response.status == 200: return try lie(response, request, version)
        case .cut where request.method == "GET" && response.status == 200: return try cut(response, request, version)
        default: break
        }
        if resource.kind == .early { try hint(request, &response) }
        response.framing = framing(response)
        let isClosing = response.framing == .close || random.chance(0.05)
        if isClosing { response.fields.append(("Connection", "close")) }
        world.recorder?.record(response.written + response.bytes, to: request, closes: isClosing)
        try write(response, request)
        return !isClosing
    }

    private mutating func framing(_ response: OriginResponse) -> OriginResponse.Framing {
        switch random.number(0...9) {
        // Written with one call: an origin that dies in the middle would end content that nothing
        // else delimits.
        case 0 where response.content.count < 30_000: .close
        case 1, 2: .chunked
        default: .length
        }
    }

    /// Early hints, alone or in one segment with the response.
    private mutating func hint(_ request: OriginRequest, _ response: inout OriginResponse) throws {
        let fields = "Link: </style.css>; rel=preload\r\nX-Soak-Number: \(request.number)\r\n"
        let hint = "HTTP/1.1 103 Early Hints\r\n\(fields)\r\n"
        if random.chance(0.5) {
            response.before = Array(hint.utf8)
        } else {
            response.written = Array(hint.utf8)
            try socket.write(response.written)
            if random.chance(0.5) { Clock.pause(Double(random.number(1...10)) / 1_000) }
        }
    }

    private mutating func write(_ response: OriginResponse, _ request: OriginRequest) throws {
        if response.framing == .close {
            try socket.write(response.bytes)
        } else if request.resource.kind == .slow {
            let bytes = response.bytes
            let step = max(1, bytes.count / random.number(3...12))
            for from in stride(from: 0, to: bytes.count, by: step) {
                try socket.write(Array(bytes[from..<min(bytes.count, from + step)]))
                Clock.pause(Double(random.number(1...20)) / 1_000)
            }
        } else if random.chance(0.7) {
            try socket.write(response.bytes)
        } else {
            try socket.write(response.head)
            let content = response.framed
            if !content.isEmpty { try socket.write(content) }
        }
    }

    // MARK: Lies

    /// Sends more than a response: bytes, or a second response, behind the first.
    ///
    /// The connection sends nothing after that: whatever the gateway took the bytes for ends there.
    private mutating func lie(_ honest: OriginResponse, _ request: OriginRequest, _ version: Int) throws -> Bool {
        var response = honest
        response.framing = random.chance(0.5) ? .length : .chunked
        let number = world.nextNumber()
        var extra = Array("unasked".utf8)
        if random.chance(0.6) { extra = OriginResponse.smuggled(number) }
        let name = History.Name(version: version, selector: request.selector)
        let way = request.resource.name
        // Bytes outside the response's segments may cross with a next request, and be taken for its
        // response.
        let isApart = way == "own" || way == "second" || way == "idle"
        // The client may have them, as a response, before this thread can report that they are
        // written.
        if isApart { world.tell { $0.originSmuggles(number, at: .infinity) } }
        switch way {
        case "head": try socket.write(response.bytes + extra)
        case "last":
            let bytes = response.bytes
            let cut = random.number(1...(bytes.count - 1))
            try socket.write(Array(bytes[..<cut]))
            Clock.pause(Double(random.number(0...10)) / 1_000)
            try socket.write(Array(bytes[cut...]) + extra)
        case "own":
            try socket.write(response.bytes)
            try socket.write(extra)
        case "second":
            try socket.write(response.bytes)
            extra = OriginResponse.smuggled(number)
            try socket.write(extra)
        case "idle":
            try socket.write(response.bytes)
            // If a request arrived meanwhile, these bytes would be its response.
            if try socket.wait(Double(random.number(10...400)) / 1_000) { return true }
            try socket.write(extra)
        default:
            // The length is short of the content by a few bytes.
            response.framing = .length
            response.missing = min(random.number(1...40), response.content.count - 1)
            try socket.write(response.bytes)
        }
        let written = Clock.now()
        world.tell {
            $0.originLies(request.resource, name, how: "bytes behind a response (\(way))", at: written)
            $0.originSmuggles(number, at: written)
        }
        // A request that arrives now gets no response.
        guard (try? reader.head()) != nil, isApart else { return false }
        let asked = Clock.now()
        world.tell { $0.originForgives(request.resource, name, at: asked) }
        return false
    }

    /// Breaks off.
    private mutating func cut(_ honest: OriginResponse, _ request: OriginRequest, _ version: Int) throws -> Bool {
        var response = honest
        response.framing = request.resource.name == "chunk" ? .chunked : .length
        let name = History.Name(version: version, selector: request.selector)
        let now = Clock.now()
        world.tell { $0.originLies(request.resource, name, how: "a response that breaks off", at: now) }
        let bytes = response.bytes
        switch request.resource.name {
        case "silent": break
        case "head": try socket.write(Array(response.head.prefix(random.number(1...(response.head.count - 1)))))
        case "reset":
            try socket.write(Array(bytes.prefix(random.number(1...(bytes.count - 1)))))
            socket.resetAtEnd()
        default: try socket.write(Array(bytes.prefix(random.number(response.head.count...(bytes.count - 1)))))
        }
        return false
    }
}
