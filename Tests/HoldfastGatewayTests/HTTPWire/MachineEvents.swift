import NIOCore

@testable import HoldfastGateway

/// The events of a ``ConnectionMachine`` that is fed a client's bytes: what it begins, hands over,
/// refuses and closes. Each exchange reads all of its content, and then its response is written.
struct MachineEvents {
    private var machine: ConnectionMachine
    private var isClosed = false
    private(set) var events: [String] = []
    /// The content of the current request.
    private var content: [UInt8] = []

    private init(_ limits: MessageLimits) { machine = ConnectionMachine(limits: limits, discardLimit: 1 << 10) }

    /// - Parameter pieces: the bytes as the channel brings them. Then the client closes its sending
    ///   side.
    static func of(_ pieces: [ArraySlice<UInt8>], limits: MessageLimits = MessageLimits()) -> [String] {
        var machine = MachineEvents(limits)
        machine.proceed()
        for piece in pieces where !machine.isClosed { machine.receive(ByteBuffer(bytes: piece)) }
        if !machine.isClosed { machine.closeInput() }
        return machine.events
    }

    private mutating func receive(_ bytes: ByteBuffer) {
        switch machine.receive(bytes) {
        case .next(let action): perform(action)
        case .content(let action): perform(action)
        }
    }

    private mutating func perform(_ action: ConnectionMachine.NextAction) {
        switch action {
        case .none, .read: break
        case .proceed: proceed()
        case .linger, .close: close()
        }
    }

    private mutating func closeInput() {
        switch machine.closeInput() {
        case .none: break
        case .proceed: proceed()
        case .failContent(let refusal): fail(refusal)
        case .close: close()
        }
    }

    private mutating func proceed() {
        switch machine.beginRequest() {
        case .none, .waitForRequest, .waitForHead: break
        case .begin(let head, _):
            events.append("\(head)")
            content = []
            perform(machine.wantContent())
        case .refuse(let refusal):
            events.append("refused: \(refusal)")
            endResponse()
        case .close: close()
        case .changeProtocol(let bytes):
            events.append("HTTP/2: \(bytes.readableBytes)")
            close()
        }
    }

    private mutating func perform(_ action: ConnectionMachine.ContentAction) {
        switch action {
        case .hand(.body(let bytes)):
            content += Array(buffer: bytes)
            perform(machine.wantContent())
        case .hand(.end(let trailers)):
            events.append("content: \(content)" + (trailers.map { ", trailers: \($0)" } ?? ""))
            endResponse()
        case .fail(let refusal): fail(refusal)
        case .read, .sayContinue: break
        }
    }

    private mutating func fail(_ refusal: MessageRefusal) {
        // How much of the content was handed over before depends on the pieces.
        events.append("content failed: \(refusal)")
        endResponse()
    }

    private mutating func endResponse() {
        perform(machine.endResponse(keepingAlive: machine.isKeptAlive))
    }

    private mutating func close() {
        isClosed = true
        events.append("closed")
    }
}
