import NIOCore
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// Mutants: bytes that come before the request is sent are its response; line ends make an origin
/// suspect.
@Suite(.timeLimit(.minutes(20))) struct ResponseTurnTests {
    private enum Event: CaseIterable { case begin, send, end, giveUp, giveBack }

    private static let response = "HTTP/1.1 200 OK\r\n\r\n"
    private static let samples: [(bytes: String, behind: ResponseTurn.Stray, first: ResponseTurn.Stray)] = [
        (response, .bytes, .greeting), ("H", .bytes, .greeting), ("evil", .bytes, .greeting),
        ("HTTP/1.1 100 Continue\r\n\r\n", .bytes, .greeting), ("\r\nHTTP/1.1 200 OK\r\n\r\n", .bytes, .greeting),
        ("\r\n", .lineEnds, .lineEnds), ("\n\n\r\n", .lineEnds, .lineEnds),
        ("HTTP/1.1 408 Request Timeout\r\n\r\n", .timeout, .timeout), ("HTTP/1.1 4080 x", .bytes, .greeting),
    ]

    private func arrival(_ text: String, _ turn: ResponseTurn) -> ResponseTurn.Arrival {
        var turn = turn
        return turn.receive(ByteBuffer(string: text))
    }

    /// RFC 9112 §9.2.
    @Test func bytesBeforeRequestIsSentAreNoResponseToIt() {
        for sample in Self.samples {
            var turn = ResponseTurn()
            for _ in 0..<3 {
                let hadResponse = turn != ResponseTurn()
                let stray = hadResponse ? sample.behind : sample.first
                #expect(arrival(sample.bytes, turn) == .stray(stray), "while it is idle: \(sample)")
                turn.begin()
                #expect(turn.isUnsent)
                #expect(arrival(sample.bytes, turn) == .stray(stray), "before it is sent: \(sample)")
                turn.send()
                #expect(!turn.isUnsent && arrival(Self.response, turn) == .response)
                turn.end()
            }
        }
    }

    @Test func bytesThatBeginNoResponseStandBehindTheOneBefore() {
        for sample in Self.samples {
            var turn = ResponseTurn()
            turn.begin()
            turn.send()
            #expect(arrival(sample.bytes, turn) == .response, "the first response is malformed with them")
            turn.end()
            turn.begin()
            turn.send()
            let begins = sample.bytes.hasPrefix("H")
            #expect(arrival(sample.bytes, turn) == (begins ? .response : .misplaced(sample.behind)), "\(sample)")
            // Later bytes are a part of the response, whatever they are.
            _ = turn.receive(ByteBuffer(string: Self.response))
            #expect(arrival(sample.bytes, turn) == .response)
        }
    }

    @Test func bytesForExchangeThatWasGivenUpMeanNothing() {
        for hasBytes in [false, true] {
            var turn = ResponseTurn()
            turn.begin()
            turn.send()
            if hasBytes { _ = turn.receive(ByteBuffer(string: Self.response)) }
            turn.giveUp()
            for sample in Self.samples { #expect(arrival(sample.bytes, turn) == .late) }
        }
    }

    /// Every sequence of events, judged by a count of the requests that were sent and the responses
    /// that ended.
    @Test func noSequenceTakesAResponseWithoutARequest() {
        for number in 0..<3125 {
            var (turn, rest) = (ResponseTurn(), number)
            var (isBegun, isSent, isOver) = (false, false, false)
            for _ in 0..<5 {
                let event = Event.allCases[rest % 5]
                rest /= 5
                switch event {
                case .begin where !isSent && !isOver:
                    turn.begin()
                    isBegun = true
                case .send:
                    turn.send()
                    if isBegun { isSent = true }
                case .end where isSent:
                    turn.end()
                    (isBegun, isSent) = (false, false)
                case .giveBack where isBegun && !isSent:
                    turn.giveBack()
                    isBegun = false
                case .giveUp where isSent:
                    turn.giveUp()
                    (isBegun, isSent, isOver) = (false, false, true)
                default: break
                }
                #expect((arrival(Self.response, turn) == .response) == isSent, "\(number)")
                if isOver { #expect(arrival(Self.response, turn) == .late) }
            }
        }
    }
}
