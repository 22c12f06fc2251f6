/// The habits of HTTP/1's framing, for clients of HTTP/2: many requests at a time, with content in
/// frames of any size, and streams that are given up.
extension Client {
    /// - Returns: whether the habit has a form of its own in HTTP/2.
    mutating func converseInStreams() throws -> Bool {
        switch habit {
        case .pipeline, .discard, .halfclose: try multiplex()
        case .upload: try uploadInStreams()
        case .expect: try expectContinueInStreams()
        case .abort: try leaveStreams()
        default: return false
        }
        return true
    }

    /// A connection on which some requests are under way already.
    mutating func connectWithStreams(receiveBuffer: Int32? = nil) throws -> StreamConnection {
        let window = random.pick([65_535, 65_535, 1 << 20, 16_384, 2_000])
        let connection = try StreamConnection(world, window: window, receiveBuffer: receiveBuffer)
        streams = connection
        for _ in 0..<random.number(0...4) {
            connection.begin(random.chance(0.8) ? common() : unique(.once))
        }
        return connection
    }

    /// Several requests at once, with and without content.
    private mutating func multiplex() throws {
        let connection = try connectWithStreams()
        for _ in 0..<random.number(2...24) {
            connection.begin(mixed(), piece: random.number(1_000...16_384))
            if random.chance(0.3) { connection.flush() }
            if random.chance(0.2) { connection.listen(0.002) }
        }
        connection.readAll()
    }

    private mutating func mixed() -> ClientRequest {
        switch random.number(0...8) {
        case 0...3: return common()
        case 4: return unique(.once)
        case 5: return unique(.early)
        default:
            var request =
                random.chance(0.3)
                ? request(.page, random.number(1...7)) : unique(.upload, method: random.pick(["POST", "PUT", "GET"]))
            request.content = content(0...5_000)
            request.isChunked = random.chance(0.5)
            return padded(request, 0.2)
        }
    }

    /// Content of any length, on several streams, to the origin and back as a digest.
    private mutating func uploadInStreams() throws {
        let connection = try connectWithStreams()
        for _ in 0..<random.number(1...4) {
            var request = unique(.upload, method: random.pick(["POST", "PUT", "GET", "DELETE"]))
            request.content = content(random.chance(0.1) ? 100_000...400_000 : 0...10_000)
            request.isChunked = random.chance(0.4)
            connection.begin(request, piece: random.number(1_000...16_384))
        }
        connection.readAll()
    }

    /// Sends content when the gateway requests it, or some time after its announcement.
    private mutating func expectContinueInStreams() throws {
        let connection = try connectWithStreams()
        for _ in 0..<random.number(1...3) {
            var request = unique(.upload, method: random.pick(["POST", "PUT"]))
            request.content = content(1...20_000)
            request.isChunked = random.chance(0.3)
            request.fields.append(("Expect", "100-continue"))
            guard let stream = connection.begin(request, isHeld: true) else { return }
            if random.chance(0.8) { connection.listen(1) }
            connection.release(stream)
            guard connection.response(on: stream) != nil, !connection.isOver else { return }
        }
    }

    /// Gives up streams, which must not harm the others, or the connection.
    private mutating func leaveStreams() throws {
        let connection = try connectWithStreams()
        for _ in 0..<random.number(1...6) {
            var request = random.pick([common(), unique(.upload, method: "POST"), self.request(.slow, 1)])
            if request.isUnsafe { request.content = content(100...10_000) }
            guard let stream = connection.begin(request, isHeld: random.chance(0.3)) else { return }
            connection.begin(random.chance(0.5) ? common() : unique(.once))
            switch random.number(0...4) {
            case 0:
                connection.flush()
                Clock.pause(Double(random.number(0...10)) / 1_000)
            case 1: connection.listen(1)
            case 2: break
            default:
                if random.chance(0.2) { return connection.flushAndReset(Double(random.number(1...100)) / 100) }
            }
            connection.cancel(stream)
        }
        connection.exchange(common())
    }
}
