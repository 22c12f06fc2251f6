import Foundation
import Synchronization

/// Writes down what clients and origins send, one JSON object a line, in the order in which it is
/// sent: scripts/compare-programs plays it to two programs.
final class Recorder: Sendable {
    private struct State {
        let file: FileHandle
        var connections = 0
    }

    private let state: Mutex<State>
    private let began = Clock.now()

    /// The bytes that one client sends before it reads the responses.
    private struct Sent: Encodable {
        var at: Double
        var connection: Int
        /// The methods of its requests: they tell which responses have content.
        var methods: [String]
        var pieces: [Data]
    }

    /// The response of an origin, and what it depends on.
    private struct Responded: Encodable {
        var at: Double
        var method: String
        var target: String
        var fields: [String: String]
        var response: Data
        var closes: Bool
    }

    /// The fields of a request that decide which response it gets.
    private static let deciding = [
        "if-none-match", "if-modified-since", "if-range", "range", "accept-language", "authorization", "cookie",
        "x-soak-number",
    ]

    init(file path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
        else { throw SocketFailure.broken("cannot write '\(path)'") }
        state = Mutex(State(file: file))
    }

    /// A number for a connection of a client.
    func addConnection() -> Int {
        state.withLock { state in
            state.connections += 1
            return state.connections
        }
    }

    func record(_ requests: [ClientRequest], _ pieces: [[UInt8]], on connection: Int) {
        let sent = Sent(
            at: Clock.now() - began,
            connection: connection,
            methods: requests.map(\.method),
            pieces: pieces.map { Data($0) }
        )
        write(sent)
    }

    func record(_ response: [UInt8], to request: OriginRequest, closes: Bool) {
        var fields: [String: String] = [:]
        for name in Self.deciding { fields[name] = request.head[name] }
        let responded = Responded(
            at: Clock.now() - began,
            method: request.method,
            target: request.resource.target,
            fields: fields,
            response: Data(response),
            closes: closes
        )
        write(responded)
    }

    private func write(_ value: some Encodable) {
        guard var line = try? JSONEncoder().encode(value) else { return }
        line.append(10)
        state.withLock { $0.file.write(line) }
    }
}
