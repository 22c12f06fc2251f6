package import NIOCore

/// Tells when a server with one event loop has read what another connection has sent so far.
///
/// It sends a PING on a connection of its own: the loop reads it in the same round as the other's
/// bytes, or later.
package actor Pacer {
    private let host: String
    private let port: Int
    private let group: any EventLoopGroup
    private var connection: CaseConnection?
    private var (reader, pings, acks) = (FrameReader(), 0, 0)
    /// A server loses its patience with a client that sends nothing but pings.
    private let mostPings = 400

    package init(host: String = "127.0.0.1", port: Int, group: any EventLoopGroup) {
        self.host = host
        self.port = port
        self.group = group
    }

    /// Waits until the server has read. It gives up if the server ends the connection.
    package func pass() async {
        if pings >= mostPings { await close() }
        if connection == nil {
            connection = try? await CaseConnection.open(host: host, port: port, group: group)
            (reader, pings, acks) = (FrameReader(), 0, 0)
            await connection?.send(Frame.preface + Frame.settings())
        }
        guard let connection else { return }
        pings += 1
        await connection.send(Frame.ping("and now?"))
        while acks < pings {
            guard case .bytes(let bytes) = await connection.next(within: .hours(1)) else { return }
            reader.append(bytes)
            while let frame = reader.next() { if frame.type == FrameType.ping { acks += 1 } }
        }
    }

    package func close() async {
        await connection?.close()
        connection = nil
    }
}
