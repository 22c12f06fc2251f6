/// Habits that test which requests wait for others.
extension Client {
    /// Many clients at one moment, each with its own target, which sends an interim response.
    mutating func takeEarlyHints() throws {
        let connection = try connect()
        waitForBurst()
        for _ in 0..<random.number(1...3) {
            guard try connection.exchange(unique(.early)) != nil, !connection.isOver else { return }
        }
    }

    /// Many clients at one moment, for one target, which is known or not.
    mutating func comeTogether() throws {
        let connection = try connect()
        waitForBurst()
        let moment = Int(Clock.now() / Self.period)
        let name = Int(SeededGenerator.mix(world.seed ^ UInt64(moment)) % 24)
        let kind = Resource.Kind.allCases[moment % 3]
        try connection.exchange(request(random.chance(0.9) ? kind : .slow, name))
    }

    /// Reads large content in small pieces.
    mutating func readSlowly() throws {
        let pace = (random.number(500...8_000), Double(random.number(1...8)) / 1_000)
        let request = random.chance(0.5) ? request(.slow, random.number(0...3)) : common()
        if speaksHTTP2 {
            let connection = try connectWithStreams(receiveBuffer: 4_096)
            connection.pace = pace
            connection.exchange(request)
        } else {
            let connection = try ClientConnection(world, receiveBuffer: 4_096)
            connection.pace = pace
            try connection.exchange(request)
        }
    }

    /// Closes the connection in the middle of a request, of a response, or while it waits.
    mutating func leaveEarly() throws {
        let connection = try connectWithHTTP1()
        var request = random.chance(0.5) ? common() : unique(.upload, method: "POST")
        if request.isUnsafe { request.content = content(100...10_000) }
        let bytes = request.bytes
        switch random.number(0...3) {
        case 0: try connection.send([Array(bytes.prefix(random.number(1...bytes.count)))], [])
        case 1:
            try connection.send([bytes], [])
            Clock.pause(Double(random.number(0...10)) / 1_000)
        case 2:
            try connection.send([bytes], [])
            if try connection.socket.wait(5) { try? connection.socket.receive() }
        default:
            try connection.send([bytes + self.request(.slow, 1).bytes], [])
            Clock.pause(Double(random.number(0...30)) / 1_000)
        }
        if random.chance(0.6) { connection.reset() }
    }
}
