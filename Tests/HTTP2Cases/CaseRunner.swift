package import NIOCore

/// Plays cases to a server.
package struct CaseRunner: Sendable {
    /// How the bytes of a case are cut.
    package enum Cut: Sendable {
        case none
        /// In two, before this byte of those that its steps send.
        case at(Int)
        case everywhere
    }

    private let host: String
    private let port: Int
    private let group: any EventLoopGroup
    /// How long the server may send nothing while something is expected of it.
    private let patience: TimeAmount

    package init(host: String = "127.0.0.1", port: Int, group: any EventLoopGroup, patience: TimeAmount) {
        self.host = host
        self.port = port
        self.group = group
        self.patience = patience
    }

    /// - Parameter pause: is waited for at each cut.
    package func run(
        _ entry: HTTP2Case,
        cut: Cut = .none,
        pause: @Sendable () async -> Void = {}
    ) async throws -> Observation {
        let connection = try await CaseConnection.open(host: host, port: port, group: group)
        var run = Run(connection: connection, patience: patience)
        await run.play(entry, cut, pause)
        await connection.close()
        return run.seen
    }

    private struct Run {
        let connection: CaseConnection
        let patience: TimeAmount
        var seen = Observation()
        private var reader = FrameReader()
        private var sentCount = 0

        init(connection: CaseConnection, patience: TimeAmount) {
            self.connection = connection
            self.patience = patience
        }

        mutating func play(_ entry: HTTP2Case, _ cut: Cut, _ pause: @Sendable () async -> Void) async {
            if case .settings(let entries) = entry.opening { await open(with: entries) }
            for (index, step) in entry.steps.enumerated() {
                switch step {
                case .send(var bytes):
                    // With the last frames, so that a server that has ended the connection because
                    // of them does not get more.
                    let isLast = index == entry.steps.count - 1 && entry.expectation.needsPing
                    let count = bytes.count
                    if isLast { bytes += Frame.ping(Observation.lastPing) }
                    await send(bytes, cut, upTo: count, pause)
                    if isLast { isPingSent = true }
                case .respond(let bytes):
                    await send(bytes(seen))
                case .await(let condition):
                    await receive { condition($0) || $0.isOver }
                }
            }
            if entry.expectation.needsPing { await ping() }
            await receive(until: entry.expectation.isDecided)
            if entry.expectation.mayEnd { return }
            if !seen.isOver { await ping() }
            await receive { $0.isPingAcked || $0.isOver }
            // The error is sent; the connection must end. RFC 9113 §5.4.1
            if seen.isOver { await receive(until: \.isClosed) }
        }

        private mutating func open(with entries: [(UInt16, UInt32)]) async {
            let payload = entries.flatMap { id, value in [UInt8(id >> 8), UInt8(id & 0xFF)] + Frame.number(value) }
            await send(Frame.preface + Frame.frame(FrameType.settings, on: 0, payload))
            await receive { $0.settings != nil || $0.isOver }
            await send(Frame.settingsAck)
        }

        private var isPingSent = false

        private mutating func ping() async {
            guard !isPingSent else { return }
            isPingSent = true
            await send(Frame.ping(Observation.lastPing))
        }

        // MARK: Bytes

        private mutating func send(_ bytes: [UInt8]) async {
            seen.send(bytes)
            await connection.send(bytes)
        }

        /// - Parameter count: the bytes that are cut.
        private mutating func send(
            _ bytes: [UInt8],
            _ cut: Cut,
            upTo count: Int,
            _ pause: @Sendable () async -> Void
        ) async {
            seen.send(bytes)
            let cuts: [Int]
            switch cut {
            case .none: cuts = []
            case .at(let place): cuts = [place - sentCount].filter { $0 > 0 && $0 < count }
            case .everywhere: cuts = Array(1..<max(count, 1))
            }
            sentCount += count
            var start = 0
            for place in cuts {
                await connection.send(Array(bytes[start..<place]))
                await pause()
                start = place
            }
            await connection.send(Array(bytes[start...]))
        }

        private mutating func receive(until isEnough: (Observation) -> Bool) async {
            while !isEnough(seen), !seen.isClosed, !seen.isTimedOut {
                switch await connection.next(within: patience) {
                case .bytes(let bytes):
                    reader.append(bytes)
                    while let frame = reader.next() { seen.receive(frame) }
                    seen.isHTTP1 = reader.isHTTP1
                case .closed: seen.isClosed = true
                case .timedOut: seen.isTimedOut = true
                }
            }
        }
    }
}
