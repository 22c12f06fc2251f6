import HTTPCache
import HTTPTypes
import NIOCore

@testable import HoldfastGateway
@testable import OriginConnections

/// Performs the actions of a ``ResponseReception`` as a connection does, without a channel or a
/// clock.
struct ReceptionDriver {
    struct Plan: Hashable, CustomStringConvertible {
        enum Reading: CaseIterable {
            /// The reader asks before content comes, and again at once after each piece.
            case early
            /// It takes pieces that are decoded already, and asks for the others.
            case ahead
            /// It asks when all bytes have come.
            case late
            case never
        }

        /// The events after all bytes.
        enum Closing: CaseIterable {
            case open, cleanly, byReset
        }

        var reading: Reading
        var closing: Closing

        var description: String { "\(reading), \(closing)" }

        static let all = Reading.allCases.flatMap { reading in
            // A reader that never asks does not see the end.
            Closing.allCases.filter { reading != .never || $0 == .open }.map { Plan(reading: reading, closing: $0) }
        }
    }

    /// The reception as its caller and its connection see it.
    struct Outcome: Hashable {
        var interims: [HTTPResponse] = []
        var head: HTTPResponse?
        var content: [UInt8] = []
        var trailers: HTTPFields?
        var isWhole = false
        /// The code of the failure, and whether it came before any byte of a response.
        var failure: String?
        /// Bytes came after the response.
        var isCrossed = false
        /// The use of the connection otherwise.
        var ending: ResponseReception.Ending?
    }

    private struct Reset: Error {}

    private let plan: Plan
    private var reception: ResponseReception
    private(set) var outcome = Outcome()
    /// Faults that no sequence of events may cause.
    private(set) var faults: [String] = []
    private var isAsked = false
    private var isReadWanted = true
    /// Whether all bytes have come.
    private var isInputOver = false
    private var isRelayed = false

    static func run(_ request: OriginRequest, _ pieces: [ArraySlice<UInt8>], _ plan: Plan) -> ReceptionDriver {
        var driver = ReceptionDriver(plan: plan, reception: ResponseReception(of: request, limits: MessageLimits()))
        driver.run(pieces)
        return driver
    }

    private init(plan: Plan, reception: ResponseReception) {
        self.plan = plan
        self.reception = reception
    }

    private var isOver: Bool { outcome.isWhole || outcome.failure != nil }

    private mutating func run(_ pieces: [ArraySlice<UInt8>]) {
        for piece in pieces where !piece.isEmpty {
            guard !outcome.isWhole else {
                // The connection finds bytes that belong to no request.
                outcome.isCrossed = true
                continue
            }
            guard outcome.failure == nil else { break }
            if plan.reading == .early, !isReadWanted { faults.append("the channel is not asked for what there is") }
            isReadWanted = false
            switch reception.receive(ByteBuffer(bytes: piece)) {
            case .relay(let message): relay(message)
            case .decode: advance()
            }
        }
        isInputOver = true
        if !isOver, plan.closing != .open {
            reception.closeInput(plan.closing == .byReset ? Reset() : nil)
            advance()
        }
        read()
        if plan.reading == .never, !isOver {
            let failure = reception.fail(TransportError(code: .cancelled, message: ""))
            if failure == nil { faults.append("a response that is not over cannot be abandoned") }
        }
        if isOver, reception.next() != nil { faults.append("a step follows the end") }
        if outcome.isCrossed { outcome.ending = nil }
        // No cache stores what is relayed, so its connection need not be read to the close.
        if outcome.ending == .awaitClose, plan.reading != .never, isRelayed {
            faults.append("a relayed response waits")
        }
    }

    private mutating func relay(_ message: RelayedMessage) {
        isRelayed = true
        outcome.head = message.parsedHead()
        outcome.content = Array(message.content.readableBytesView)
        end()
    }

    private mutating func end() {
        outcome.isWhole = true
        outcome.ending = reception.ending
        outcome.isCrossed = reception.ending == .crossed
    }

    /// The reader's part.
    private mutating func read() {
        guard outcome.head != nil, plan.reading != .never, plan.reading != .late || isInputOver else { return }
        while !isOver, !isAsked {
            if plan.reading == .ahead, let piece = reception.takeAhead() {
                receive(piece)
                if !isOver { advance() }
                continue
            }
            switch reception.ask() {
            case .wait:
                isAsked = true
                if case .reject = reception.ask() {} else { faults.append("two readers wait") }
                advance()
            case .end(let trailers):
                outcome.trailers = trailers
                end()
            case .fail(let failure): fail(failure)
            case .reject: faults.append("the reader is rejected")
            }
        }
    }

    private mutating func advance() {
        while let step = reception.next() {
            switch step {
            case .interim(let interim, _): outcome.interims.append(interim)
            case .head(let head, let whole, _):
                outcome.head = head.response
                if let whole {
                    outcome.content = Array(whole.readableBytesView)
                    end()
                }
            case .piece(let piece):
                if !isAsked { faults.append("a piece was not asked for") }
                isAsked = false
                receive(piece)
            case .read:
                isReadWanted = true
                return
            case .fail(let failure): fail(failure)
            }
            if isOver { return }
        }
        read()
    }

    private mutating func receive(_ piece: OriginPiece) {
        if let bytes = piece.bytes { outcome.content += Array(bytes.readableBytesView) }
        if piece.trailers != nil { outcome.trailers = piece.trailers }
        if piece.isLast { end() }
    }

    private mutating func fail(_ failure: OriginFailure) {
        outcome.failure = "\(failure.error.code), \(failure.isBeforeResponse)"
        if !reception.hasFailed { faults.append("a failure is forgotten") }
    }
}

extension OriginRequest {
    static func sample(
        _ method: HTTPRequest.Method,
        body: BodyStream? = nil,
        mayBeRelayed: Bool = false,
        isCheck: Bool = false
    ) throws -> OriginRequest {
        let head = HTTPRequest(method: method, scheme: "http", authority: "a.example", path: "/")
        var request = TransportRequest(head: head, body: body)
        request.mayBeRelayed = mayBeRelayed
        return try make(request, to: endpoint(of: request, routes: nil), isCheck: isCheck)
    }
}
