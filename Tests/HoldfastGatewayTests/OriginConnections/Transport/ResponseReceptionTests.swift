import Foundation
import HTTPCache
import HTTPTypes
import NIOCore
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// However an origin's bytes are cut, and whenever they are asked for, the caller gets the same
/// response. RFC 9112 §6.3
@Suite(.timeLimit(.minutes(20)))
struct ResponseReceptionTests {
    typealias Plan = ReceptionDriver.Plan

    private static let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\n"

    /// The response, and whether its framing states its end.
    struct Sample: CustomTestStringConvertible {
        var bytes: [UInt8]
        var testDescription: String { String(decoding: bytes, as: UTF8.self).debugDescription }
    }

    private static let responses = [
        ok + "Content-Length: 5\r\n\r\nhello",
        ok + "Cache-Control: no-store\r\nContent-Length: 5\r\n\r\nhello",
        ok + "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        ok + "Content-Length: 0\r\n\r\n",
        ok + "Content-Length: 2\r\nConnection: close\r\n\r\nok",
        ok + "Transfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n1\r\n!\r\n0\r\nT: u\r\n\r\n",
        ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 503 Away\r\nContent-Length: 2\r\n\r\nno",
    ]

    private static let untilClose = ["HTTP/1.0 200 OK\r\n\r\nall of it", ok + "\r\n"]

    private static let malformed = [
        ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n",
        ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1\r\nx\r\nz\r\n",
        ok + "X : y\r\n\r\n", "what?\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
    ]

    /// The samples above with interim responses in every place, with bytes behind, and cut short;
    /// and the recorded inputs of the fuzzer.
    static let samples: [Sample] = {
        var texts = responses + untilClose + malformed + [""]
        texts += texts.map { hint + "HTTP/1.1 102\r\n\r\n" + $0 }
        texts += responses.flatMap { [$0 + "x", $0 + ok, $0 + hint] }
        texts += responses.map { String($0.dropLast()) }
        texts.append(String(repeating: "HTTP/1.1 100\r\n\r\n", count: 17))
        return (texts.map { Array($0.utf8) } + recorded).map { Sample(bytes: $0) }
    }()

    /// The inputs in Fuzz/Corpus/http1-response.
    private static let recorded: [[UInt8]] = {
        let root = #filePath.replacing(
            "Tests/HoldfastGatewayTests/OriginConnections/Transport/ResponseReceptionTests.swift",
            with: ""
        )
        let folder = root + "Fuzz/Corpus/http1-response/"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { try? Array(Data(contentsOf: URL(filePath: folder + $0))) }
    }()

    @Test func recordedInputsAreAmongTheSamples() {
        #expect(Self.recorded.count >= 8)
    }

    private static func requests() throws -> [OriginRequest] {
        [try .sample(.get), try .sample(.get, mayBeRelayed: true), try .sample(.head)]
    }

    private static func outcome(
        _ request: OriginRequest,
        _ pieces: [ArraySlice<UInt8>],
        _ plan: Plan
    ) throws -> ReceptionDriver.Outcome {
        let driver = ReceptionDriver.run(request, pieces, plan)
        if !driver.faults.isEmpty { throw Unexpected("\(plan), \(pieces.map(\.count)): \(driver.faults)") }
        var outcome = driver.outcome
        // A relayed response is not stored, so its connection closes at once.
        if request.mayBeRelayed, outcome.ending == .awaitClose { outcome.ending = .close }
        // The connection may close before or after the reader has all of it.
        if plan.closing != .open { outcome.ending = nil }
        // Content that is not asked for is handed over only if it came with the head.
        if plan.reading == .never {
            outcome = ReceptionDriver.Outcome(interims: outcome.interims, head: outcome.head)
        }
        return outcome
    }

    /// Mutants: a decoded piece that is dropped or handed over twice; bytes behind that are
    /// forgotten; a channel that is not asked for more.
    @Test(arguments: samples) func outcomeDoesNotDependOnCuts(_ sample: Sample) throws {
        let bytes = sample.bytes
        for request in try Self.requests() {
            // Without content there is no reader; one kind of reader sees each way to close.
            for plan in Plan.all where plan.reading == .early || request.method == .get && plan.closing == .open {
                let whole = try Self.outcome(request, [bytes[...]], plan)
                for place in bytes.indices {
                    let cut = try Self.outcome(request, [bytes[..<place], bytes[place...]], plan)
                    if cut != whole {
                        throw Unexpected("\(request.method), \(plan), cut at \(place): \(cut), not \(whole)")
                    }
                }
                let single = try Self.outcome(request, bytes.indices.map { bytes[$0...$0] }, plan)
                #expect(single == whole, "\(request.method), \(plan)")
            }
        }
    }

    /// Mutants: content that is asked for late is lost, or ends without its failure.
    @Test(arguments: samples) func outcomeDoesNotDependOnWhenContentIsAskedFor(_ sample: Sample) throws {
        for request in try Self.requests() {
            for closing in Plan.Closing.allCases {
                let early = try Self.outcome(request, [sample.bytes[...]], Plan(reading: .early, closing: closing))
                for reading in [Plan.Reading.ahead, .late] {
                    let other = try Self.outcome(request, [sample.bytes[...]], Plan(reading: reading, closing: closing))
                    #expect(other == early, "\(request.method), \(reading), \(closing)")
                }
            }
        }
    }

    /// Mutants: a close or a reset that ends a response wherever it is.
    @Test(arguments: responses, Plan.all)
    func onlyWholeResponseIsCompleteWhenTheConnectionCloses(text: String, plan: Plan) throws {
        let bytes = Array(text.utf8)
        let request = try OriginRequest.sample(.get)
        guard plan.reading != .never, plan.closing != .open else { return }
        for count in 0...bytes.count {
            let outcome = try Self.outcome(request, [bytes[..<count]], plan)
            #expect(outcome.isWhole == (count == bytes.count))
            guard !outcome.isWhole else { continue }
            #expect(outcome.failure == "connectionClosed, \(count == 0)")
        }
    }

    @Test(arguments: untilClose) func closeEndsContentWithoutLengthAndResetDoesNot(text: String) throws {
        let request = try OriginRequest.sample(.get)
        for reading in [Plan.Reading.early, .ahead, .late] {
            let bytes = Array(text.utf8)[...]
            let closed = try Self.outcome(request, [bytes], Plan(reading: reading, closing: .cleanly))
            #expect(closed.isWhole && closed.failure == nil)
            let reset = try Self.outcome(request, [bytes], Plan(reading: reading, closing: .byReset))
            #expect(!reset.isWhole && reset.failure == "connectionClosed, false")
            #expect(reset.content == closed.content)
        }
    }

    @Test(arguments: [
        (responses[0], ResponseReception.Ending.keep), (responses[1], .keep), (responses[2], .close),
        (responses[4], .awaitClose), (responses[8], .keep), (responses[0] + "x", .crossed),
        (responses[1] + ok, .crossed),
    ])
    func responseStatesWhatItsConnectionIsUsedFor(text: String, ending: ResponseReception.Ending) throws {
        var reception = ResponseReception(of: try .sample(.get, mayBeRelayed: true), limits: MessageLimits())
        if case .decode = reception.receive(ByteBuffer(string: text)) {
            guard case .head(_, _?, _)? = reception.next() else { throw Unexpected("The content is not there.") }
        }
        #expect(reception.ending == ending)
    }

    /// This holds whatever the origin says.
    /// Mutant: the connection of a health check is kept.
    @Test func healthCheckIsTheLastRequestOnItsConnection() throws {
        let request = try OriginRequest.sample(.get, isCheck: true)
        #expect(String(buffer: request.head).contains("\r\nConnection: close\r\n"))
        var reception = ResponseReception(of: request, limits: MessageLimits())
        _ = reception.receive(ByteBuffer(string: Self.responses[0]))
        guard case .head(_, _?, _)? = reception.next() else { throw Unexpected("The content is not there.") }
        #expect(reception.ending == .close)
    }

    /// Mutant: a connection is kept whose request is not sent to its end.
    @Test(arguments: [false, true]) func responseToHalfARequestEndsTheConnection(isUploaded: Bool) throws {
        let request = try OriginRequest.sample(.post, body: BodyStream(ByteBuffer(string: "content")))
        for text in [Self.responses[3], Self.responses[0]] {
            var reception = ResponseReception(of: request, limits: MessageLimits())
            if isUploaded { _ = reception.endUpload() }
            _ = reception.receive(ByteBuffer(string: text))
            guard case .head? = reception.next() else { throw Unexpected("There is no head.") }
            _ = reception.ask()
            while reception.next() != nil {}
            #expect(reception.ending == (isUploaded ? .keep : .close))
        }
    }

    @Test func relaysNoResponseAfterInterimOneOrInTwoPieces() throws {
        let request = try OriginRequest.sample(.get, mayBeRelayed: true)
        let response = Self.responses[1]
        for pieces in [[Self.hint, response], [Self.hint + response], [String(response.prefix(30)), response]] {
            var reception = ResponseReception(of: request, limits: MessageLimits())
            for piece in pieces {
                guard case .decode = reception.receive(ByteBuffer(string: piece)) else {
                    throw Unexpected("It is relayed: \(pieces)")
                }
                while reception.next().map({ if case .read = $0 { false } else { true } }) == true {}
            }
        }
    }

    // MARK: Time limits

    /// Mutants: a limit that an interim response leaves running, or that a whole head restarts.
    @Test func interimResponseGivesTheTurnBack() throws {
        let request = try OriginRequest.sample(.post, body: BodyStream(ByteBuffer(string: "content")))
        var reception = ResponseReception(of: request, limits: MessageLimits())
        #expect(reception.running == .taking)
        #expect(reception.take() == .stop)
        guard case .decode(.begin(.head)) = reception.receive(ByteBuffer(string: Self.hint)),
            case .interim(_, .stop)? = reception.next(), case .read? = reception.next()
        else { throw Unexpected("The limit is another.") }
        guard case .decode(.begin(.head)) = reception.receive(ByteBuffer(string: Self.hint + "HTTP/1.1")),
            case .interim(_, .begin(.head))? = reception.next()
        else { throw Unexpected("The next head's limit does not run.") }
        #expect(reception.running == .head)
    }

    @Test(arguments: OriginWait.Running.allCases)
    func passedLimitSaysWhatTheOriginOwed(running: OriginWait.Running) throws {
        let body = running == .taking ? BodyStream(ByteBuffer(string: "content")) : nil
        var reception = ResponseReception(of: try .sample(.put, body: body), limits: MessageLimits())
        if running == .content {
            _ = reception.receive(ByteBuffer(string: Self.ok + "Content-Length: 3\r\n\r\n"))
            guard case .head? = reception.next(), case .wait(.begin(.content)) = reception.ask() else {
                throw Unexpected("No content is awaited.")
            }
        }
        #expect(reception.running == running)
        let limit = OriginTimeLimit(time: .seconds(3), source: .setting("timeouts.hard"))
        reception.untaken = 5
        if running != .content {
            guard case .extend(running) = reception.passLimit(limit, untaken: 4) else {
                throw Unexpected("The origin's progress does not count.")
            }
        }
        guard case .fail(let failure) = reception.passLimit(limit, untaken: 5) else {
            throw Unexpected("It does not fail.")
        }
        #expect(failure.error.code == .timeout)
        #expect(failure.isBeforeResponse == (running != .content))
        #expect(reception.hasFailed)
        guard case .close = reception.passLimit(limit, untaken: 5) else { throw Unexpected("It fails twice.") }
    }
}
