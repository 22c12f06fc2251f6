import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// However a connection's bytes are cut, and whenever responses are written, the requests are those
/// that the bytes hold. RFC 9112 §6.3 and §9.3.2
@Suite(.timeLimit(.minutes(20)))
struct ConnectionMachineTests {
    typealias Request = PipelineTranscript.Request

    /// Every kind of request before every kind of request.
    private static let short = [
        PipelineTranscript([
            Request(), Request(content: .length(40)), Request(), Request(method: "POST", content: .length(3)),
            Request(),
        ]),
        PipelineTranscript([
            Request(method: "POST", content: .chunked([3, 36])), Request(method: "HEAD"),
            Request(content: .chunked([])), Request(content: .length(0)), Request(),
        ]),
        PipelineTranscript([
            Request(method: "PUT", content: .length(36), expectsContinue: true), Request(),
            Request(content: .chunked([1]), expectsContinue: true), Request(content: .length(1)),
        ]),
    ]

    @Test(arguments: MachineDriver.Plan.all) func decodesSentRequestsCutAtEveryByte(plan: MachineDriver.Plan) throws {
        for transcript in Self.short {
            let expected = ReferenceParser.requests(in: transcript.bytes)
            for place in 0..<transcript.bytes.count {
                let faults = MachineDriver.faults(expected, transcript.pieces(cutAt: [place]), plan)
                if !faults.isEmpty { throw Unexpected("Cut at \(place): \(faults)") }
            }
            for size in [1, 7] {
                let faults = MachineDriver.faults(expected, transcript.pieces(of: size), plan)
                if !faults.isEmpty { throw Unexpected("Cut into pieces of \(size): \(faults)") }
            }
        }
    }

    /// Lengths around those of buffers: of the bytes read before, of one read of a channel, and of
    /// the fields that are kept.
    @Test(arguments: MachineDriver.Plan.eager)
    func decodesSentRequestsAtLengthsAroundEveryBuffer(plan: MachineDriver.Plan) throws {
        for buffer in [512, 2048, 4096, 65536] {
            for length in buffer - 1...buffer + 1 {
                for content in [PipelineTranscript.Content.length(5), .length(length), .chunked([length])] {
                    let transcript = PipelineTranscript([
                        Request(content: content), Request(headLength: min(length, 5000)), Request(headLength: 3000),
                        Request(method: "POST", content: content), Request(),
                    ])
                    let expected = ReferenceParser.requests(in: transcript.bytes)
                    var cuts = transcript.borders.flatMap { [[$0 - 1], [$0, $0 + buffer], [$0 + 1]] }
                    cuts.append(Array(stride(from: buffer, to: transcript.bytes.count, by: buffer)))
                    cuts.append(transcript.borders)
                    for cut in cuts {
                        let faults = MachineDriver.faults(expected, transcript.pieces(cutAt: cut), plan)
                        if !faults.isEmpty { throw Unexpected("\(content), \(length), cut at \(cut): \(faults)") }
                    }
                }
            }
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func decodesRandomRequestsAsSent(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<40 {
            let transcript = PipelineTranscript((0..<6).map { _ in Self.request(&random) })
            let expected = ReferenceParser.requests(in: transcript.bytes)
            let places = (0..<Int.random(in: 0...8, using: &random)).map { _ in
                Int.random(in: 0..<transcript.bytes.count, using: &random)
            }
            guard let plan = MachineDriver.Plan.all.randomElement(using: &random) else { return }
            let faults = MachineDriver.faults(expected, transcript.pieces(cutAt: places), plan)
            if !faults.isEmpty { throw Unexpected("Seed \(seed), \(plan), cut at \(places): \(faults)") }
        }
    }

    private static func request(_ random: inout SeededRandom) -> Request {
        let length = [0, 1, 5, 36, 37, 511, 2047, 2048, 5000].randomElement(using: &random) ?? 0
        let content: PipelineTranscript.Content =
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: .none
            case 2, 3: .length(length)
            default: .chunked((0..<Int.random(in: 0...3, using: &random)).map { $0 + length + 1 })
            }
        return Request(
            method: ["GET", "HEAD", "POST", "DELETE"].randomElement(using: &random) ?? "GET",
            content: content,
            headLength: [nil, nil, 1024, 2048, 3000].randomElement(using: &random) ?? nil,
            expectsContinue: Int.random(in: 0..<6, using: &random) == 0
        )
    }

    @Test func headAfterDroppedContentWaitsForTheResponse() throws {
        var machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        let next = "GET /b HTTP/1.1\r\nHost: g\r\n\r\n"
        _ = machine.receive(ByteBuffer(string: "GET /a HTTP/1.1\r\nHost: g\r\nContent-Length: 4\r\n\r\nab"))
        guard case .begin = machine.beginRequest() else { throw Unexpected("Nothing was begun.") }
        guard machine.discardContent() else { throw Unexpected("The content is not awaited.") }
        for piece in ["cd" + next.prefix(9), String(next.dropFirst(9))] {
            guard case .next(.none) = machine.receive(ByteBuffer(string: piece)) else {
                throw Unexpected("What follows the content is not left alone.")
            }
        }
        guard case .fail = machine.wantContent() else {
            throw Unexpected("Content that was dropped is taken for an empty one.")
        }
        guard case .proceed = machine.endResponse(keepingAlive: true), case .begin(let head, _) = machine.beginRequest()
        else {
            throw Unexpected("The next request was not begun.")
        }
        #expect(head.request.target == "/b")
    }

    @Test func clientThatClosesItsSendingSideGetsAllResponses() throws {
        var machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        // Both wait while the client reads earlier responses slowly.
        _ = machine.receive(ByteBuffer(string: "GET /a HTTP/1.1\r\nHost: g\r\n\r\nGET /b HTTP/1.1\r\nHost: g\r\n\r\n"))
        guard case .proceed = machine.closeInput() else { throw Unexpected("They were given up.") }
        for target in ["/a", "/b"] {
            guard case .begin(let head, _) = machine.beginRequest() else {
                throw Unexpected("\(target) was not begun.")
            }
            #expect(head.request.target == target)
            guard case .proceed = machine.endResponse(keepingAlive: true) else { throw Unexpected("It ends too soon.") }
        }
        guard case .close = machine.beginRequest() else { throw Unexpected("It does not end.") }
    }

    @Test func lateContentFailsAndResponseCanFollow() throws {
        var machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        _ = machine.receive(ByteBuffer(string: "PUT /a HTTP/1.1\r\nHost: g\r\nContent-Length: 4\r\n\r\nab"))
        guard case .begin = machine.beginRequest(), case .hand = machine.wantContent(),
            case .read = machine.wantContent()
        else { throw Unexpected("The content is not awaited.") }
        guard case .failContent(let refusal) = machine.timeOut() else { throw Unexpected("The request ends silently.") }
        #expect(refusal.status == 408)
        let isKeptAlive = machine.isKeptAlive
        #expect(!isKeptAlive)
        // The rest of the content may be on its way.
        guard case .linger = machine.endResponse(keepingAlive: false) else {
            throw Unexpected("The connection is closed before the client has read the response.")
        }
        guard case .next(.read) = machine.receive(ByteBuffer(string: "cd")), case .close = machine.closeInput() else {
            throw Unexpected("The client's last bytes are not awaited.")
        }
    }

    @Test func refusesLateHead() {
        var machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        guard case .waitForRequest = machine.beginRequest(),
            case .next(.proceed) = machine.receive(ByteBuffer(string: "GET")),
            case .waitForHead = machine.beginRequest(), case .refuse(let refusal) = machine.timeOut()
        else {
            Issue.record("It is not refused.")
            return
        }
        #expect(refusal.status == 408)
        guard case .linger = machine.endResponse(keepingAlive: false) else {
            Issue.record("The connection stays open.")
            return
        }
    }

    @Test func stoppingGatewayClosesConnectionOnlyBetweenRequests() {
        var machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        let request = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: g\r\n\r\n")
        guard case .next(.proceed) = machine.receive(request), case .begin = machine.beginRequest(),
            case .none = machine.drain()
        else {
            Issue.record("The request is not served.")
            return
        }
        let isKeptAlive = machine.isKeptAlive
        #expect(!isKeptAlive)
        guard case .close = machine.endResponse(keepingAlive: true), case .none = machine.beginRequest() else {
            Issue.record("Another request is begun.")
            return
        }
        var idle = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        guard case .next(.proceed) = idle.receive(request), case .begin = idle.beginRequest(),
            case .proceed = idle.endResponse(keepingAlive: true), case .close = idle.drain()
        else {
            Issue.record("The idle connection stays open.")
            return
        }
    }

    @Test func stoppingGatewayServesOnlyFirstRequestOfAcceptedConnection() {
        let request = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: g\r\n\r\n")
        var machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        guard case .awaitRequest = machine.drain(), case .waitForRequest = machine.beginRequest(),
            case .next(.proceed) = machine.receive(request), case .begin = machine.beginRequest()
        else {
            Issue.record("The request is not served.")
            return
        }
        let isKeptAlive = machine.isKeptAlive
        #expect(!isKeptAlive)
        guard case .close = machine.endResponse(keepingAlive: true) else {
            Issue.record("The connection stays open.")
            return
        }
        var silent = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        guard case .awaitRequest = silent.drain(), case .proceed = silent.closeInput(),
            case .close = silent.beginRequest()
        else {
            Issue.record("A connection whose client has left stays open.")
            return
        }
    }

    @Test func refusesPrefaceAsMalformedWithoutHTTP2() {
        let preface = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        var accepting = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        _ = accepting.receive(preface)
        guard case .changeProtocol(preface) = accepting.beginRequest() else {
            Issue.record("The preface is not recognized.")
            return
        }
        var refusing = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000, acceptsHTTP2: false)
        _ = refusing.receive(preface)
        guard case .refuse(let refusal) = refusing.beginRequest() else {
            Issue.record("The preface is not refused.")
            return
        }
        #expect(refusal.status == 505)
    }
}
