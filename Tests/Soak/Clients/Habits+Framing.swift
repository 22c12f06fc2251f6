/// Habits that test where one message ends and the next begins.
extension Client {
    /// Sends one request after the other, on a kept or a new connection.
    mutating func talkPlainly() throws {
        let connection = try connect()
        for count in stride(from: random.number(1...6), through: 1, by: -1) where !world.isOver {
            var request = common()
            if count == 1, random.chance(0.3) { request.fields.append(("Connection", "close")) }
            if count == 1, random.chance(0.2) { request.isHTTP10 = true }
            if random.chance(0.1) { request.fields.append(("Cache-Control", "no-cache")) }
            guard try connection.exchange(request) != nil, !connection.isOver else { return }
            if random.chance(0.3) { Clock.pause(Double(random.number(1...20)) / 1_000) }
        }
    }

    /// Several requests at once, with and without content, cut anywhere.
    mutating func pipeline() throws {
        let connection = try connectWithHTTP1()
        let requests = (0..<random.number(2...12)).map { _ in
            switch random.number(0...7) {
            case 0...2: return common()
            case 3: return unique(.once)
            case 4: return unique(.early)
            default:
                var request = unique(.upload, method: random.pick(["POST", "PUT", "GET"]))
                request.content = content(0...5_000)
                request.isChunked = random.chance(0.5)
                return padded(request, 0.2)
            }
        }
        let bytes = requests.flatMap(\.bytes)
        try connection.send(cut(bytes, random.number(0...6)), requests, pauses: [0.002, 0, 0.005])
        connection.readAll()
    }

    /// GET with content, in pieces; the next request's head begins in the segment that ends it, and
    /// is longer than one read.
    mutating func sendContentInPieces() throws {
        let connection = try connectWithHTTP1()
        for _ in 0..<random.number(1...3) {
            var first = random.chance(0.8) ? request(.page, random.number(1...7)) : unique(.once)
            first.content = content(2...3_000)
            first.isChunked = random.chance(0.3)
            let second = padded(random.chance(0.5) ? unique(.once) : common(), 1)
            let bytes = first.bytes
            let place = random.number(first.head.count...(bytes.count - 1))
            let pieces = [Array(bytes[..<place]), Array(bytes[place...]) + second.bytes]
            try connection.send(pieces, [first, second], pauses: [Double(random.number(0...30)) / 1_000])
            // If the second is lost, this response comes in its place.
            let third = unique(.once)
            try connection.send([third.bytes], [third])
            connection.readAll()
            guard !connection.isOver else { return }
        }
    }

    /// Sends content when the gateway requests it, or some time after its announcement.
    mutating func expectContinue() throws {
        let connection = try connectWithHTTP1()
        for _ in 0..<random.number(1...3) {
            var request = unique(.upload, method: random.pick(["POST", "PUT"]))
            request.content = content(1...20_000)
            request.isChunked = random.chance(0.3)
            request.fields.append(("Expect", "100-continue"))
            try connection.send([request.head], [request])
            // Without a word within a second, a client sends it all the same. RFC 9110 §10.1.1
            if random.chance(0.8) { _ = try connection.socket.wait(1) }
            try connection.send([request.framed], [])
            guard connection.readResponse() != nil, !connection.isOver else { return }
        }
    }

    /// Closes its sending side, and reads all outstanding responses.
    mutating func closeHalf() throws {
        let connection = try connectWithHTTP1()
        let requests = (0..<random.number(1...4)).map { _ in random.chance(0.5) ? common() : unique(.once) }
        try connection.send([requests.flatMap(\.bytes)], requests)
        connection.socket.closeOutput()
        connection.readAll()
    }

    /// Content of any length and framing, to the origin and back as a digest.
    mutating func upload() throws {
        let connection = try connectWithHTTP1()
        for _ in 0..<random.number(1...3) {
            var request = unique(.upload, method: random.pick(["POST", "PUT", "GET", "DELETE"]))
            request.content = content(random.chance(0.1) ? 100_000...400_000 : 0...10_000)
            request.isChunked = random.chance(0.4)
            try connection.send(cut(request.bytes, random.number(0...4)), [request], pauses: [0.001, 0.01, 0])
            guard connection.readResponse() != nil, !connection.isOver else { return }
        }
    }

    /// A head of some thousand bytes, so often.
    mutating func padded(_ request: ClientRequest, _ share: Double) -> ClientRequest {
        guard random.chance(share) else { return request }
        var padded = request
        padded.fields.append(("X-Padding", String(repeating: "p", count: random.number(2_100...6_000))))
        return padded
    }

    private mutating func cut(_ bytes: [UInt8], _ cuts: Int) -> [[UInt8]] {
        guard bytes.count > 1 else { return [bytes] }
        let places = Set((0..<cuts).map { _ in random.number(1...(bytes.count - 1)) }).sorted()
        return zip([0] + places, places + [bytes.count]).map { Array(bytes[$0..<$1]) }
    }
}
