import HTTPTypes
import NIOCore

@testable import HoldfastGateway

/// Performs the actions of a ``ConnectionMachine`` as a connection does, without a channel, a clock
/// or a service.
struct MachineDriver {
    /// The actions of exchanges, and when they happen.
    struct Plan: Hashable, CustomStringConvertible {
        enum Reading: CaseIterable {
            case all, onePiece, dropped, ignored
        }

        enum Responding: CaseIterable {
            /// Before any content is asked for, or while it is waited for.
            case atOnce
            /// When the content has been read to its end.
            case afterContent
            /// When this many more bytes have come.
            case afterOneRead, afterTwoReads
        }

        var reading: Reading
        var responding: Responding
        /// Whether the channel brings bytes that no read asked for, and heads are served from
        /// memory.
        var isEager: Bool

        var description: String { "\(reading), \(responding)\(isEager ? ", eager" : "")" }

        static let all = Reading.allCases.flatMap { reading in
            Responding.allCases.flatMap { responding in
                [false, true].map { Plan(reading: reading, responding: responding, isEager: $0) }
            }
        }

        static let eager = all.filter(\.isEager)
    }

    /// A request that was begun.
    struct Begun {
        var line: String
        var content: [UInt8] = []
        var isContentWhole = false
    }

    private let plan: Plan
    private var machine: ConnectionMachine
    private var pieces: ArraySlice<ArraySlice<UInt8>>
    private(set) var begun: [Begun] = []
    /// Faults that well-formed requests must not cause.
    private(set) var faults: [String] = []
    private(set) var isClosed = false
    private var isReadWanted = false
    private var isResponding = false
    private var readCount = 0
    private var isProceeding = false
    private var mustProceed = false

    init(_ pieces: [ArraySlice<UInt8>], _ plan: Plan) {
        self.plan = plan
        self.pieces = pieces[...]
        machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1 << 20)
    }

    /// Compares the requests that a connection reads from the pieces with those of the reference.
    static func faults(_ expected: [ReferenceParser.Request], _ pieces: [ArraySlice<UInt8>], _ plan: Plan) -> [String] {
        var driver = MachineDriver(pieces, plan)
        driver.run()
        return driver.faults + driver.differences(from: expected)
    }

    private func differences(from expected: [ReferenceParser.Request]) -> [String] {
        var faults: [String] = []
        for (begun, expected) in zip(begun, expected) {
            if begun.line != "\(expected.method) \(expected.target)" {
                faults.append("'\(begun.line)' was begun in place of '\(expected.method) \(expected.target)'")
            }
            let due = begun.isContentWhole ? expected.content[...] : expected.content.prefix(begun.content.count)
            if begun.content[...] != due {
                faults.append("the content of '\(begun.line)' is another")
            }
        }
        // The client holds its content back, and it was not asked for, so the connection ends.
        let mayClose = begun.count <= expected.count && begun.indices.last.map { expected[$0].expectsContinue } == true
        if begun.count != expected.count, !(isClosed && mayClose) {
            faults.append("\(begun.count) requests were begun of \(expected.count)")
        }
        if !pieces.isEmpty, !isClosed { faults.append("the channel is not asked for what there is") }
        return faults
    }

    private mutating func run() {
        proceed()
        while !isClosed {
            if let piece = pieces.first, isReadWanted || plan.isEager {
                isReadWanted = false
                pieces.removeFirst()
                readCount += 1
                receive(ByteBuffer(bytes: piece))
                let due = plan.responding == .afterOneRead ? 1 : 2
                if isResponding, plan.responding != .afterContent, readCount >= due { respond() }
            } else if isResponding {
                respond()
            } else {
                return
            }
        }
    }

    private mutating func receive(_ bytes: ByteBuffer) {
        switch machine.receive(bytes) {
        case .next(let action): perform(action)
        case .content(let action): perform(action)
        }
    }

    private mutating func perform(_ action: ConnectionMachine.NextAction) {
        switch action {
        case .none: break
        case .proceed: proceed()
        case .read: isReadWanted = true
        case .linger, .close: isClosed = true
        }
    }

    private mutating func perform(_ action: ConnectionMachine.ContentAction) {
        switch action {
        case .hand(.body(let bytes)): handOver(bytes)
        case .hand(.end): handOver(nil)
        case .fail(let refusal): faults.append("content failed: \(refusal.reason)")
        case .read, .sayContinue: isReadWanted = true
        }
    }

    private mutating func beginRequest() {
        switch machine.beginRequest() {
        case .none: break
        case .begin(let head, _): begin(head)
        case .refuse(let refusal): faults.append("refused: \(refusal.reason)")
        case .waitForRequest, .waitForHead:
            isReadWanted = true
            // A real connection would set a deadline, and end with 408.
            if machine.wholeHead != nil { faults.append("the rest of a head is awaited that is there") }
        case .close: isClosed = true
        case .changeProtocol: faults.append("HTTP/2 without its preface")
        }
    }

    private mutating func proceed() {
        mustProceed = true
        guard !isProceeding else { return }
        isProceeding = true
        while mustProceed, !isClosed {
            mustProceed = false
            if plan.isEager, let head = machine.wholeHead, let line = Self.lineOfGET(head) {
                begun.append(Begun(line: line, isContentWhole: true))
                machine.skipRequest(head)
                mustProceed = true
                continue
            }
            beginRequest()
        }
        isProceeding = false
    }

    /// The beginning of a head that a table of responses can hold.
    private static func lineOfGET(_ head: ByteBuffer) -> String? {
        let text = String(buffer: head)
        guard text.hasPrefix("GET "), !text.contains("Content-Length"), !text.contains("Transfer-Encoding") else {
            return nil
        }
        return text.split(separator: " ").prefix(2).joined(separator: " ")
    }

    private mutating func begin(_ head: RequestHead) {
        begun.append(Begun(line: "\(head.request.method.rawValue) \(head.request.target)"))
        isResponding = true
        readCount = 0
        if !head.hasContent { isReadWanted = true }
        switch plan.reading {
        case .all, .onePiece: perform(machine.wantContent())
        case .dropped: if machine.discardContent() { isReadWanted = true }
        case .ignored: break
        }
        if isResponding, plan.responding == .atOnce { respond() }
    }

    private mutating func handOver(_ bytes: ByteBuffer?) {
        guard let bytes else {
            begun[begun.count - 1].isContentWhole = true
            if isResponding, plan.responding == .afterContent { respond() }
            return
        }
        begun[begun.count - 1].content += Array(buffer: bytes)
        if plan.reading == .all { perform(machine.wantContent()) }
    }

    private mutating func respond() {
        isResponding = false
        perform(machine.endResponse(keepingAlive: machine.isKeptAlive))
    }
}

/// A fault: what happened instead of what the test expects.
struct Unexpected: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
