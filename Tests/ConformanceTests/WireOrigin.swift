import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import NIOPosix

/// The origin of a case behind a socket, byte by byte: it also frames responses wrongly if the case
/// says so.
final class WireOrigin: Sendable {
    private let channel: any Channel
    let port: Int

    init(_ origin: CaseOrigin, clock: ManualClock) async throws {
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                let inbox = ByteInbox()
                // The connection's own task: it ends with the connection, and belongs to no test's
                // scope.
                Task { await Self.serve(channel, inbox, origin, clock) }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        port = channel.localAddress?.port ?? 0
    }

    func stop() async { try? await channel.close() }

    private static func serve(
        _ channel: any Channel,
        _ inbox: ByteInbox,
        _ origin: CaseOrigin,
        _ clock: ManualClock
    ) async {
        while let bytes = await inbox.takeHead() {
            let request = MessageHead(bytes: bytes)
            if let length = request.fields.joined("Content-Length").flatMap({ Int($0) }) {
                _ = await inbox.take(length)
            } else if request.fields.joined("Transfer-Encoding") != nil {
                _ = await inbox.takeChunks()
            }
            clock.advance(by: .seconds(origin.delay(for: request.fields)))
            let method = String(request.start.first ?? "")
            let response = origin.respond(method: method, fields: request.fields, at: clock.now())
            if response.hangsUp { break }
            var text = ""
            for interim in response.interim {
                text += "HTTP/1.1 \(interim.status) Interim\r\n" + interim.fields.text + "\r\n"
            }
            text += head(of: response)
            if method != "HEAD" { text += response.content }
            try? await channel.writeAndFlush(ByteBuffer(bytes: text.bytes)).get()
            // The end of the connection ends such content.
            if response.fields.joined("Transfer-Encoding") != nil { break }
        }
        try? await channel.close()
    }

    private static func head(of response: CaseOrigin.Response) -> String {
        var fields = response.fields
        if fields.joined("Connection") == nil { fields.add("Connection", "keep-alive") }
        if fields.joined("Keep-Alive") == nil { fields.add("Keep-Alive", "timeout=5") }
        let hasContent = response.status != 204 && response.status != 304
        if hasContent, fields.joined("Content-Length") == nil, fields.joined("Transfer-Encoding") == nil {
            fields.add("Content-Length", "\(response.content.bytes.count)")
        }
        return "HTTP/1.1 \(response.status) Scripted\r\n" + fields.text + "\r\n"
    }
}

extension WireFields {
    fileprivate var text: String { lines.map { "\($0.name): \($0.value)\r\n" }.joined() }
}

extension ByteInbox {
    /// Content in chunks, to the end of its trailers; `nil` if it broke off.
    func takeChunks() async -> [UInt8]? {
        var content: [UInt8] = []
        while let line = await takeLine() {
            guard let size = Int(String(bytes: line).prefix { $0.isHexDigit }, radix: 16) else { return nil }
            if size == 0 {
                while let trailer = await takeLine() {
                    if trailer.isEmpty { return content }
                }
                return nil
            }
            guard let chunk = await take(size + 2) else { return nil }
            content += chunk.dropLast(2)
        }
        return nil
    }
}
