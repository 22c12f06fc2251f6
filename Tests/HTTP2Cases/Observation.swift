/// All that a server has sent to one connection, and whether it kept to the rules that bind it.
package struct Observation: Sendable {
    /// The payload of the PING that ends a case.
    static let lastPing = "the end."

    /// The first status of each stream that is no interim one.
    package private(set) var statuses: [UInt32: Int] = [:]
    package private(set) var resets: [UInt32: UInt32] = [:]
    /// The streams whose response is complete.
    package private(set) var ended: Set<UInt32> = []
    /// Bytes of DATA.
    package private(set) var content: [UInt32: Int] = [:]
    package private(set) var goAway: UInt32?
    package private(set) var settings: [UInt16: UInt32]?
    package private(set) var settingsAcks = 0
    package private(set) var pings: [String] = []
    /// The first rule that the server broke.
    package private(set) var violation: String?
    package internal(set) var isHTTP1 = false
    package internal(set) var isClosed = false
    /// Whether the server has sent nothing for too long.
    package internal(set) var isTimedOut = false

    // The client's windows. RFC 9113 §6.9.1
    private var initialWindow = 65_535
    private var updates: [UInt32: Int] = [:]
    private var totalContent = 0
    /// A smaller initial window counts once the server has acknowledged it.
    private var smallerWindows: [(ack: Int, size: Int)] = []
    private var sentSettings = 0
    private var maximumFrame = 16_384
    /// The stream of an unfinished field block.
    private var blockStream: UInt32?

    package init() {}

    var isPingAcked: Bool { pings.contains(Self.lastPing) }

    /// Whether the server has ended the connection, or said that it will.
    package var isOver: Bool { isClosed || (goAway ?? 0) != 0 || isTimedOut }

    /// Whether the server's last word about a stream has come.
    func isDecided(_ stream: UInt32) -> Bool { ended.contains(stream) || resets[stream] != nil || isOver }

    func isConnectionError(_ codes: [ErrorCode], _ strictly: Bool) -> Bool {
        guard isClosed, !isTimedOut else { return false }
        guard let goAway, goAway != 0 else { return !strictly }
        return codes.contains(goAway, strictly)
    }

    // MARK: The client

    /// Takes note of frames that open or close windows.
    mutating func send(_ bytes: [UInt8]) {
        var reader = FrameReader()
        reader.append(bytes.starts(with: Frame.preface) ? Array(bytes.dropFirst(Frame.preface.count)) : bytes)
        while let frame = reader.next() {
            switch frame.type {
            case FrameType.windowUpdate:
                updates[frame.stream, default: 0] += Int(frame.number(at: 0) ?? 0)
            case FrameType.settings where !frame.has(FrameFlag.ack) && frame.stream == 0:
                sentSettings += 1
                for (id, value) in frame.settings {
                    if id == Setting.maxFrameSize { maximumFrame = max(maximumFrame, Int(value)) }
                    if id == Setting.initialWindowSize { changeWindow(Int(value)) }
                }
            default:
                break
            }
        }
    }

    private mutating func changeWindow(_ size: Int) {
        if size >= initialWindow {
            initialWindow = size
        } else {
            smallerWindows.append((sentSettings, size))
        }
    }

    // MARK: The server

    mutating func receive(_ frame: ReceivedFrame) {
        judge(frame)
        switch frame.type {
        case FrameType.headers:
            if let status = frame.status, status >= 200, statuses[frame.stream] == nil {
                statuses[frame.stream] = status
            }
        case FrameType.data:
            content[frame.stream, default: 0] += frame.payload.count
            totalContent += frame.payload.count
        case FrameType.resetStream:
            if resets[frame.stream] == nil { resets[frame.stream] = frame.code(at: 0) }
        case FrameType.settings where frame.has(FrameFlag.ack):
            settingsAcks += 1
            while let smaller = smallerWindows.first, smaller.ack <= settingsAcks {
                initialWindow = smaller.size
                smallerWindows.removeFirst()
            }
        case FrameType.settings:
            settings = Dictionary(frame.settings.map { ($0.id, $0.value) }) { $1 }
        case FrameType.ping where frame.has(FrameFlag.ack):
            pings.append(String(decoding: frame.payload, as: UTF8.self))
        case FrameType.goAway:
            // NO_ERROR may come before an error.
            if (goAway ?? 0) == 0 { goAway = frame.code(at: 4) }
        default:
            break
        }
        let isStreamFrame = frame.type == FrameType.headers || frame.type == FrameType.data
        if isStreamFrame, frame.has(FrameFlag.endStream) { ended.insert(frame.stream) }
    }

    /// The rules for every server, in every case.
    private mutating func judge(_ frame: ReceivedFrame) {
        if settings == nil, frame.type != FrameType.settings { report("the first frame is no SETTINGS. §3.4") }
        if frame.payload.count > maximumFrame { report("a frame of \(frame.payload.count) bytes. §4.2") }
        if let open = blockStream, frame.type != FrameType.continuation || frame.stream != open {
            report("a frame within a field block. §4.3")
        }
        switch frame.type {
        case FrameType.headers, FrameType.continuation:
            blockStream = frame.has(FrameFlag.endHeaders) ? nil : frame.stream
        case FrameType.data:
            let stream = content[frame.stream, default: 0] + frame.payload.count
            if stream > initialWindow + updates[frame.stream, default: 0], !frame.payload.isEmpty {
                report("\(stream) bytes on stream \(frame.stream), which are more than its window. §6.9.1")
            }
            if totalContent + frame.payload.count > 65_535 + updates[0, default: 0] {
                report("more bytes than the connection's window. §6.9.1")
            }
        default:
            break
        }
        if ended.contains(frame.stream), frame.stream != 0,
            [FrameType.headers, FrameType.data, FrameType.continuation].contains(frame.type)
        {
            report("a frame after the end of stream \(frame.stream). §5.1")
        }
        if resets[frame.stream] != nil, frame.type == FrameType.headers || frame.type == FrameType.data {
            report("a frame after RST_STREAM on stream \(frame.stream). §5.4.2")
        }
    }

    private mutating func report(_ rule: String) { if violation == nil { violation = rule } }
}

extension Observation: CustomStringConvertible {
    /// The result in one line.
    package var description: String {
        var parts: [String] = []
        if let violation { parts.append("rule broken: \(violation)") }
        for stream in Set(statuses.keys).union(resets.keys).sorted() {
            var part = "stream \(stream)"
            if let status = statuses[stream] { part += " \(status)" }
            if let code = resets[stream] { part += " RST_STREAM \(ErrorCode.name(code))" }
            if statuses[stream] != nil, resets[stream] == nil, !ended.contains(stream) { part += " unfinished" }
            parts.append(part)
        }
        // A case with a hundred streams.
        if parts.count > 4 { parts = parts.prefix(2) + ["…"] + parts.suffix(2) }
        if let goAway { parts.append("GOAWAY \(ErrorCode.name(goAway))") }
        if isHTTP1 { parts.append("a response of HTTP/1") }
        if isTimedOut { parts.append("nothing more") }
        if isClosed { parts.append("closed") } else if isPingAcked { parts.append("usable") }
        return parts.joined(separator: ", ")
    }
}
