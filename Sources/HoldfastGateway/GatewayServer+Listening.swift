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
    /// - Throws: ``ListenFailure``; the system's error if no descriptors are left.
    func openListeners(of configuration: GatewayConfiguration, on loops: [ServingLoop]) async throws -> OpenListeners {
        var open = OpenListeners()
        do {
            for loop in loops {
                open.bells.append(try await loop.executor.installBell())
            }
            for listener in configuration.listeners {
                do {
                    let tls = try listener.tls.map { try certificates.open($0) }
                    var kind = ClientKind(tls: tls, acceptsHTTP2: listener.acceptsHTTP2)
                    kind.isProxied = listener.expectsProxyHeader
                    switch listener {
                    case .address(let address, _, _, _): try await listen(on: address, kind, loops, &open)
                    case .unix(let path, let mode, _, _, _):
                        kind.isLocal = true
                        try await listen(at: path, mode: mode, kind, loops, &open)
                    case .inherited(let socket, _, _, _):
                        kind.isLocal = socket.address.path != nil
                        try await share(socket.descriptor, kind, loops, &open)
                        open.addresses.append(socket.address)
                    }
                } catch {
                    throw ListenFailure(listener: listener, cause: error)
                }
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
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        #if canImport(Glibc)
            let stream = CInt(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let descriptor = socket(CInt(address.protocol.rawValue), stream, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        defer { close(descriptor) }
        var isReused: CInt = 1
        guard
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<CInt>.size)) == 0,
            address.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0
        else { throw IOError(errnoCode: errno, reason: "bind") }
    }

    // MARK: One socket for all loops

    /// Creates a Unix socket. The socket gets its path when it is served.
    private func listen(
        at path: String,
        mode: UInt16,
        _ kind: ClientKind,
        _ loops: [ServingLoop],
        _ open: inout OpenListeners
    ) async throws {
        let place = GatewayListener.place(path)
        let claim = try SocketClaim(place)
        open.claims.append(claim)
        let descriptor = UnixAddress.listen(at: claim.draft)
        guard descriptor >= 0 else { throw place.refusal(errno) }
        // The channel has its own copy.
        defer { close(descriptor) }
        try await share(descriptor, kind, loops, &open)
        try claim.publish(mode: mode_t(mode))
        open.addresses.append(ListenAddress(host: path, port: 0))
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
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw IOError(errnoCode: errno, reason: "fcntl") }
        // The channel closes its copy.
        let channel = try await bootstrap(on: acceptor, handingOutTo: loops, kind)
            .withBoundSocket(copy).get()
        open.shared.append(channel)
        // The channel has set the queue length to NIO's default of 128. Clients wait in this queue
        // while one process ends and the next one starts, so the length is set to the system's
        // maximum.
        _ = Self.systemListen(descriptor, SOMAXCONN)
    }

    /// The system call, which has the same name as a function above.
    private static func systemListen(_ descriptor: CInt, _ backlog: CInt) -> CInt {
        #if canImport(Glibc)
            Glibc.listen(descriptor, backlog)
        #elseif canImport(Musl)
            Musl.listen(descriptor, backlog)
        #else
            Darwin.listen(descriptor, backlog)
        #endif
    }
}
