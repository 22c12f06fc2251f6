import LibC
package import LocalSockets

/// Takes over the listeners of a running gateway. ``HandoverTaker`` decides.
///
/// The calls wait, which is fine while a process starts: nothing else runs yet.
package struct HandoverClient {
    private let socket: OpenDescriptor
    private let clock: ContinuousClock
    private let greeting: Duration
    private var taker = HandoverTaker()
    private var bytes: ArraySlice<UInt8> = []
    private var descriptors: [OpenDescriptor] = []

    /// Connects to the running gateway.
    ///
    /// - Parameters:
    ///   - user: the ID of the user who must run it.
    ///   - greeting: the time in which the gateway has to respond.
    /// - Returns: `nil` if no gateway waits there.
    /// - Throws: ``HandoverFailure`` if this user may not connect, or if another user listens.
    package init?(
        to location: SocketLocation,
        user: UInt32,
        greeting: Duration = HandoverLimits.greeting,
        clock: ContinuousClock = ContinuousClock()
    ) throws(HandoverFailure) {
        guard let address = UnixAddress(location.path) else { return nil }
        let number = UnixAddress.open()
        guard number >= 0 else { throw Self.failure(location, errno) }
        socket = OpenDescriptor(owning: number)
        self.clock = clock
        self.greeting = greeting
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        // A gateway that hangs does not accept the connection.
        var time = timeval()
        time.tv_sec = .init(greeting.components.seconds)
        setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        guard address.withPointer({ connect(number, $0, $1) }) == 0 else {
            if [ENOENT, ENOTDIR, ECONNREFUSED].contains(errno) { return nil }
            throw Self.failure(location, errno)
        }
        guard PeerUser.id(ofPeer: number) == user else {
            throw HandoverFailure("Another user listens on '\(location.path)'. Check the owner of the store's folder.")
        }
    }

    private static func failure(_ location: SocketLocation, _ code: CInt) -> HandoverFailure {
        HandoverFailure(
            "Cannot connect to the running gateway at '\(location.path)': \(String(cString: strerror(code))). "
                + "Run the command as the gateway's user."
        )
    }

    /// Takes the listeners, and waits until the running gateway has released its store.
    ///
    /// - Parameter prepare: does everything that can fail, except opening the store. It gets the
    ///   listeners, and the other addresses that the running gateway will free.
    /// - Returns: the result of `prepare`; `nil` if the running gateway ended before it sent its
    ///   listeners.
    /// - Throws: ``HandoverFailure``, or the error of `prepare`. The running gateway continues to
    ///   serve, unless the failure says otherwise.
    package mutating func take<Prepared>(
        prepare: ([PassedListener], [String]) throws -> Prepared
    ) throws -> Prepared? {
        var deadline = clock.now + greeting
        var prepared: Prepared?
        // If the gateway has already refused, its reason can still be read.
        send(.hello)
        while true {
            let event = next(until: deadline)
            switch taker.receive(event, holding: descriptors.count) {
            case .wait: break
            case .prepare(let offer):
                do {
                    prepared = try prepare(listeners(of: offer), offer.freed)
                } catch {
                    if case .send(let message) = taker.fail("\(error)") { send(message) }
                    throw error
                }
                if case .send(let message) = taker.prepare() { send(message) }
                deadline = clock.now + offer.limit
            case .send(let message): send(message)
            case .start: return prepared
            case .startAlone: return nil
            case .fail(let reason): throw HandoverFailure(reason)
            }
        }
    }

    /// Assigns the descriptors to the listeners. Their number was checked.
    private func listeners(of offer: HandoverOffer) -> [PassedListener] {
        var rest = ArraySlice(descriptors)
        return offer.listeners.map { listener in
            let sockets = Array(rest.prefix(Int(clamping: listener.socketCount)))
            rest = rest.dropFirst(sockets.count)
            return PassedListener(
                configured: listener.configured,
                address: listener.address,
                sockets: sockets,
                lock: listener.hasLock ? rest.popFirst() : nil
            )
        }
    }

    private func send(_ message: HandoverMessage) {
        // If this fails, the next read tells why.
        if let bytes = message.bytes { _ = DescriptorMessage.send(bytes, to: socket.number) }
    }

    /// Waits for the next message.
    private mutating func next(until deadline: ContinuousClock.Instant) -> HandoverTaker.Event {
        while true {
            do {
                if let message = try HandoverMessage.take(from: &bytes) { return .message(message) }
            } catch {
                return .invalid("\(error)")
            }
            guard waitForInput(until: deadline) else { return .timedOut }
            switch DescriptorMessage.receive(from: socket.number) {
            case .content(let more, let others):
                bytes += more
                descriptors += others
                guard descriptors.count <= HandoverLimits.sockets else { return .invalid("It sent too many sockets.") }
            case .ended, .failed(ECONNRESET): return .closed
            case .failed(let code): return .invalid("\(String(cString: strerror(code))).")
            }
        }
    }

    /// - Returns: `false` if the time is up.
    private func waitForInput(until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = clock.now.duration(to: deadline)
            guard left > .zero else { return false }
            let (seconds, attoseconds) = min(left, .seconds(1)).components
            let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
            var item = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
            if poll(&item, 1, CInt(clamping: milliseconds)) > 0 { return true }
        }
    }
}
