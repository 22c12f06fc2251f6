import Foundation
import Synchronization

/// A collector of traces: an HTTP server on sockets, which keeps what it gets.
package final class FakeCollector: Sendable {
    /// How it fails for good.
    package enum Trouble: Sendable, CaseIterable {
        /// It refuses connections.
        case gone
        /// It never responds.
        case mute
        /// The content of its responses never comes.
        case halting
        case busy
    }

    private struct State {
        var heads: [String] = []
        var spans: [DecodedSpan] = []
        var replies: [String] = []
    }

    package let port: Int
    private let listener: Int32
    private let trouble: Trouble?
    private let state = Mutex(State())

    /// - Parameter replies: status lines and fields of the first responses; then all are 200.
    package init(replies: [String] = [], _ trouble: Trouble? = nil) throws {
        let (listener, port) = try LoopbackSocket.listening(backlog: 64)
        (self.listener, self.port) = (listener, port)
        self.trouble = trouble
        state.withLock { $0.replies = replies }
        guard trouble != .gone else {
            stop()
            return
        }
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { [weak self] in
                    while let self, self.serveRequest(on: connection) {}
                    close(connection)
                }
            }
        }
    }

    /// Ends it: connections are refused from now on.
    package func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    package var endpoint: String { "http://127.0.0.1:\(port)" }
    package var heads: [String] { state.withLock { $0.heads } }
    package var spans: [DecodedSpan] { state.withLock { $0.spans } }

    /// - Returns: whether another request may follow.
    private func serveRequest(on connection: Int32) -> Bool {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        func readMore() -> Bool {
            let count = recv(connection, &piece, piece.count, 0)
            if count > 0 { bytes += piece[..<count] }
            return count > 0 || count == -1 && errno == EINTR
        }
        let end = Array("\r\n\r\n".utf8)
        var start: Int?
        while start == nil {
            guard readMore() else { return false }
            start = bytes.indices.first { bytes[$0...].starts(with: end) }.map { $0 + 4 }
        }
        guard let start else { return false }
        let head = String(decoding: bytes[..<start], as: UTF8.self)
        let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).filter { $0 != " " }) }
        while bytes.count < start + (length ?? 0) { guard readMore() else { return false } }
        let spans = DecodedSpan.decode(Array(bytes[start...]))
        let reply = state.withLock { state in
            state.heads.append(head)
            let reply = state.replies.isEmpty ? "200 OK" : state.replies.removeFirst()
            if reply.hasPrefix("200") { state.spans += spans ?? [] }
            return reply
        }
        switch trouble {
        case .mute: break
        case .halting: respond("\(reply)\r\nContent-Length: 100", on: connection)
        case .busy: return respond("503 Busy\r\nRetry-After: 60\r\nContent-Length: 0", on: connection)
        case .gone, nil: return respond("\(reply)\r\nContent-Length: 0", on: connection)
        }
        while readMore() {}
        return false
    }

    @discardableResult
    private func respond(_ head: String, on connection: Int32) -> Bool {
        let bytes = Array("HTTP/1.1 \(head)\r\n\r\n".utf8)
        return bytes.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, 0) } == bytes.count
    }
}
