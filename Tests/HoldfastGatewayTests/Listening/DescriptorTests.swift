import NIOCore
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A process without a free descriptor for a client's connection. The test runs in a process of its
/// own, because the limit applies to the whole process.
@Suite(.timeLimit(.minutes(20)))
struct DescriptorTests {
    /// The client that waits is served in the end.
    @Test func pausesAcceptingWhileOpenConnectionsAreServed() async {
        await #expect(processExitsWith: .success) { try await DescriptorTests.runOutOfDescriptors() }
    }

    fileprivate static func runOutOfDescriptors() async throws {
        try await RawOrigin.with([.ok("a", fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { open in
                    try await get(open)
                    var taken = try takeAllDescriptors()
                    guard let last = taken.popLast() else { throw Unexpected("No descriptor was taken.") }
                    close(last)
                    // The last free descriptor is for this client.
                    guard let waiting = LoopbackSocket.connected(to: gateway.port) else {
                        throw Unexpected("connect: \(errno)")
                    }
                    try await stayIdle(serving: open)
                    for descriptor in taken { close(descriptor) }
                    try getAndClose(waiting)
                    let response = try await gateway.get("/")
                    guard response.text == "a" else { throw Unexpected("A new client was not served.") }
                }
            }
        }
    }

    /// Measures for about a second the share of a processor that all threads use. Other work on the
    /// machine only lowers it.
    private static func stayIdle(serving open: RawClient) async throws {
        let (start, before) = (ContinuousClock.now, processorTime())
        for _ in 0..<4 {
            poll(nil, 0, 250)  // lets time pass
            try await get(open)
        }
        let (used, passed) = (processorTime() - before, ContinuousClock.now - start)  // lets time pass
        guard used < passed / 4 else { throw Unexpected("Accepting took \(used) of \(passed).") }
    }

    /// Lets a connection be served that waited in the system's queue.
    private static func getAndClose(_ descriptor: CInt) throws {
        defer { close(descriptor) }
        let request = Array("GET / HTTP/1.0\r\nHost: gateway.example\r\n\r\n".utf8)
        var response = [UInt8](repeating: 0, count: 12)
        var arrival = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard send(descriptor, request, request.count, 0) == request.count, poll(&arrival, 1, -1) == 1,
            recv(descriptor, &response, response.count, CInt(MSG_WAITALL)) == 12,
            String(decoding: response, as: UTF8.self).hasSuffix("200")
        else { throw Unexpected("The client that waited was not served.") }
    }

    private static func get(_ client: RawClient) async throws {
        try await client.send("GET / HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
        guard try await client.response().text == "a" else { throw Unexpected("An open connection was not served.") }
    }

    /// Lowers the limit, and takes the descriptors that are left.
    private static func takeAllDescriptors() throws -> [CInt] {
        let next = dup(0)
        close(next)
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard next >= 0, getrlimit(resource, &limit) == 0 else { throw Unexpected("getrlimit") }
        limit.rlim_cur = rlim_t(next) + 64
        guard setrlimit(resource, &limit) == 0 else { throw Unexpected("setrlimit") }
        var taken: [CInt] = []
        while true {
            let descriptor = dup(0)
            guard descriptor >= 0 else { return taken }
            taken.append(descriptor)
        }
    }

    /// The processor time of all threads.
    private static func processorTime() -> Duration {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
            getrusage(RUSAGE_SELF, &usage)
        #endif
        return .seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + .microseconds(Int(usage.ru_utime.tv_usec) + Int(usage.ru_stime.tv_usec))
    }
}
