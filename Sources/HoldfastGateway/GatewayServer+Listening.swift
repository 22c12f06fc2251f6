import EventLoops
import HoldfastConfiguration
import LibC
import LocalSockets
import NIOCore
import NIOPosix

extension GatewayServer {
    /// Opens every listener of the configuration. A connection stays on the event loop that gets
    /// it.
    ///
    /// - Parameter prepared: the sockets of each listener that exist already.
    /// - Throws: ``ListenFailure``; the system's error if no descriptors are left.
    func openListeners(
        of configuration: GatewayConfiguration,
        on loops: [ServingLoop],
        _ prepared: [PreparedListener?]
    ) async throws -> OpenListeners {
        var open = OpenListeners()
        do {
            for loop in loops {
                open.bells.append(try await loop.executor.installBell())
            }
            for (index, listener) in configuration.listeners.enumerated() {
                let earlier = open
                let existing = prepared.dropFirst(index).first ?? nil
                do {
                    let tls = try listener.tls.map { try certificates.open($0) }
                    var kind = ClientKind(tls: tls, acceptsHTTP2: listener.acceptsHTTP2)
                    kind.isProxied = listener.expectsProxyHeader
                    switch listener {
                    case .address(let address, _, _, _):
                        if let existing {
                            try await serve(existing, kind, loops, &open)
                        } else {
                            try await listen(on: address, kind, loops, &open)
                        }
                    case .unix(let path, let mode, _, _, _):
                        kind.isLocal = true
                        try await listen(at: path, mode: mode, existing, kind, loops, &open)
                    case .inherited(let socket, _, _, _):
                        kind.isLocal = socket.address.path != nil
                        try await share(socket.descriptor, kind, loops, &open)
                        open.addresses.append(socket.address)
                    }
                } catch {
                    throw ListenFailure(listener: listener, cause: error)
                }
                open.addListener(listener.place, since: earlier)
            }
            return open
        } catch {
            await open.close()
            throw error
        }
    }

    // MARK: A host and a port

    /// Opens one socket per loop, all on the same address. The kernel distributes connections among
    /// them.
    private func listen(
        on address: ListenAddress,
        _ kind: ClientKind,
        _ loops: [ServingLoop],
        _ open: inout OpenListeners
    ) async throws {
        let isShared = loops.count > 1
        var port = address.port
        // With `SO_REUSEPORT`, the kernel would silently share the address with another process.
        if isShared, port != 0 { try reserve(address.host, port) }
        var bound: SocketAddress?
        for loop in loops {
            let channel = try await bootstrap(on: loop, handingOutTo: [loop], kind)
                .serverChannelOption(.backlog, value: 1024)
                // A configured port is reused, because it may still have connections of an earlier
                // process in TIME_WAIT. A port that the kernel selects must not belong to another
                // process.
                .serverChannelOption(.socketOption(.so_reuseaddr), value: address.port == 0 ? 0 : 1)
                .serverChannelOption(
                    .socketOption(NIOBSDSocket.Option(rawValue: SO_REUSEPORT)),
                    value: isShared ? 1 : 0
                )
                .bind(host: address.host, port: port).get()
            open.channels.append(channel)
            bound = bound ?? channel.localAddress
            port = channel.localAddress?.port ?? port
        }
        open.addresses.append(ListenAddress(host: bound?.ipAddress ?? address.host, port: port))
    }

    /// Checks that no other process uses the address.
    ///
    /// The socket is bound but does not listen. So clients that connect in the meantime are
    /// refused, and may retry. A listening socket would accept their connections and reset them
    /// when it is closed.
    ///
    /// - Throws: the system's error if another process uses the address.
    private func reserve(_ host: String, _ port: Int) throws {
        _ = try ListenAddress(host: host, port: port).boundSocket()
    }

    /// Serves an address on sockets that exist already.
    private func serve(
        _ prepared: PreparedListener,
        _ kind: ClientKind,
        _ loops: [ServingLoop],
        _ open: inout OpenListeners
    ) async throws {
        if prepared.sockets.count == loops.count {
            // As if they had been opened here: a connection stays on the loop that accepts it.
            for (socket, loop) in zip(prepared.sockets, loops) {
                open.channels.append(try await accept(from: socket.number, on: loop, handingOutTo: [loop], kind))
            }
        } else {
            for socket in prepared.sockets { try await share(socket.number, kind, loops, &open) }
        }
        open.addresses.append(prepared.address)
    }

    // MARK: One socket for all loops

    /// Creates a Unix socket. The socket gets its path when it is served.
    ///
    /// - Parameter prepared: the socket, if it exists already.
    private func listen(
        at path: String,
        mode: UInt16,
        _ prepared: PreparedListener?,
        _ kind: ClientKind,
        _ loops: [ServingLoop],
        _ open: inout OpenListeners
    ) async throws {
        let place = GatewayListener.place(path)
        let claim = try prepared?.claim(place) ?? SocketClaim(place)
        open.claims.append(claim)
        let sockets = try prepared?.sockets ?? [claim.listen()]
        // The channels have their own copies.
        for socket in sockets { try await share(socket.number, kind, loops, &open) }
        try claim.publish(mode: mode_t(mode))
        open.addresses.append(ListenAddress(path: path))
    }

    /// Accepts connections from one socket on one loop, through a copy of its descriptor, and
    /// distributes them to all loops.
    ///
    /// Several loops cannot accept from one socket: each connection would wake all of them, and
    /// NIO's channels do not expect to find no connection.
    private func share(
        _ descriptor: CInt,
        _ kind: ClientKind,
        _ loops: [ServingLoop],
        _ open: inout OpenListeners
    ) async throws {
        // Each such socket uses a different loop.
        let acceptor = loops[open.shared.count % loops.count]
        open.shared.append(try await accept(from: descriptor, on: acceptor, handingOutTo: loops, kind))
    }

    /// Accepts connections from a listening socket on one loop, through a copy of its descriptor.
    private func accept(
        from descriptor: CInt,
        on acceptor: ServingLoop,
        handingOutTo loops: [ServingLoop],
        _ kind: ClientKind
    ) async throws -> any Channel {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw IOError(errnoCode: errno, reason: "fcntl") }
        // The channel closes its copy.
        let channel = try await bootstrap(on: acceptor, handingOutTo: loops, kind).withBoundSocket(copy).get()
        // The channel has set the queue length to NIO's default of 128. Clients wait in this queue
        // while one process ends and the next one starts, so the length is set to the system's
        // maximum.
        _ = systemListen(descriptor, SOMAXCONN)
        return channel
    }
}

/// The system call, which has the same name as functions of the types here.
func systemListen(_ descriptor: CInt, _ backlog: CInt) -> CInt { listen(descriptor, backlog) }
