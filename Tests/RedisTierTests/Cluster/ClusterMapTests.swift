import NIOCore
import Testing

@testable import RedisTier

/// Slots, maps and redirections, without a server.
@Suite(.timeLimit(.minutes(20))) struct ClusterMapTests {
    private let source = RedisEndpoint.tcp(host: "s", port: 1)

    private func place(_ port: Int) -> RedisEndpoint { .tcp(host: "h", port: port) }

    private func node(_ host: RESPValue, _ port: Int64) -> RESPValue {
        .array([host, .integer(port), .bulk("id"), .array([])])
    }

    private func range(_ first: Int64, _ last: Int64, _ port: Int64, _ more: RESPValue...) -> RESPValue {
        .array([.integer(first), .integer(last), node(.bulk("h"), port)] + more)
    }

    /// The check value of the specification, and slots that a server says.
    @Test(arguments: [
        ("123456789", 12739), ("foo", 12182), ("{foo}bar", 12182), ("a{foo}", 12182), ("a{foo}{bar}", 12182),
        ("{user1000}.following", 3443), ("user1000", 3443), ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015),
        ("{bar", 4015), ("", 0),
    ])
    func slotIsThatOfTheHashTag(_ key: String, _ slot: Int) {
        #expect(HashSlot(of: key).number == slot)
    }

    @Test func checksumIsThatOfTheSpecification() {
        #expect(HashSlot.checksum("123456789".utf8) == 0x31C3)
        #expect(HashSlot(-1) == nil && HashSlot(16_384) == nil && HashSlot(16_383)?.number == 16_383)
    }

    @Test func mapTellsOwners() throws {
        let reply = RESPValue.array([
            range(0, 100, 1, node(.bulk("r"), 9)), range(200, 200, 2), range(300, 16_383, 1),
            .array([.integer(101), .integer(110), node(.null, 3)]),
            .array([.integer(111), .integer(120), node(.bulk(""), 3)]),
            .array([.integer(121), .integer(130), node(.bulk("?"), 3)]),
        ])
        let map = try ClusterMap(reply, from: source)
        let owners = [0, 100, 101, 111, 121, 199, 200, 201, 16_383].map { slot in
            HashSlot(slot).flatMap { map.owner(of: $0) }.map { "\($0)" } ?? "-"
        }
        #expect(owners == ["h:1", "h:1", "s:3", "s:3", "-", "-", "h:2", "-", "h:1"])
        #expect(map.primaries == [place(1), place(2), .tcp(host: "s", port: 3)])
        #expect(map.replicas == [.tcp(host: "r", port: 9)])
    }

    @Test func hostileMapsAreRejected() {
        let many = (0..<65).map { range(Int64($0), Int64($0), Int64($0 + 1)) }
        for reply: RESPValue in [
            .null, .failed("ERR This instance has cluster support disabled"), .array([.null]), .array([.array([])]),
            .array([.array([.integer(0), .integer(1)])]), .array([range(2, 1, 1)]), .array([range(-1, 1, 1)]),
            .array([range(0, 16_384, 1)]), .array([range(0, .max, 1)]), .array([range(.min, 0, 1)]),
            .array([range(0, 5, 1), range(5, 6, 2)]), .array(many),
            .array([RESPValue](repeating: .null, count: 16_385)),
        ] {
            let error = #expect(throws: RedisTierError.self) { try ClusterMap(reply, from: source) }
            #expect(error?.code == .unreachable)
        }
        #expect((try? ClusterMap(.array(Array(many.dropLast())), from: source))?.primaries.count == 64)
        // Odd nodes have no slots, and there are not too many replicas.
        for odd: RESPValue in [
            .null, .array([]), .array([.bulk("h")]), node(.bulk("h"), 0), node(.bulk("h"), 65_536),
            node(.bulk("h"), .max), node(.integer(1), 1), node(.bulk(String(repeating: "h", count: 254)), 1),
        ] {
            let map = try? ClusterMap(.array([.array([.integer(0), .integer(1), odd])]), from: source)
            #expect(map?.primaries == [])
        }
        let replicas = (1...100).map { node(.bulk("r"), Int64($0)) }
        let map = try? ClusterMap(
            .array([.array([.integer(0), .integer(1), node(.bulk("h"), 1)] + replicas)]),
            from: source
        )
        #expect(map?.replicas.count == 64)
    }

    @Test func redirectionsAreRead() {
        func read(_ text: String) -> Redirection? { Redirection(.failed(text), from: source) }
        #expect(read("MOVED 3999 h:6381") == .moved(place(6381)))
        #expect(read("ASK 3999 h:6381") == .ask(place(6381)))
        #expect(read("MOVED 3999 ::1:6381") == .moved(.tcp(host: "::1", port: 6381)))
        #expect(read("MOVED 3999 :6381") == .moved(.tcp(host: "s", port: 6381)))
        #expect(read("TRYAGAIN Multiple keys request during rehashing of slot") == .tryAgain)
        for text in [
            "MOVED", "MOVED 1", "MOVED 1 h", "MOVED 1 h:", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 ?:1",
            "MOVED 1 h:1 x", "ASK 1 h:x", "CLUSTERDOWN Hash slot not served", "ERR", "",
        ] {
            #expect(read(text) == nil, "\(text)")
        }
        #expect(Redirection(.bulk("MOVED 3999 h:6381"), from: source) == nil)
    }

    @Test func eachKindOfRedirectionIsFollowedOnce() {
        var route = ClusterRoute(place(1))
        let steps: [(Redirection, Bool, Int, Bool)] = [
            (.moved(place(2)), true, 2, false), (.ask(place(3)), true, 3, true), (.tryAgain, true, 3, true),
            (.moved(place(4)), false, 3, true), (.ask(place(4)), false, 3, true), (.tryAgain, false, 3, true),
        ]
        for (redirection, isFollowed, port, isAsking) in steps {
            #expect(route.follow(redirection) == isFollowed)
            #expect(route.place == place(port) && route.isAsking == isAsking)
        }
    }

    // MARK: The directory

    @Test func mapIsAskedForOnceInAWhile() async throws {
        let now = Observed(NIODeadline.uptimeNanoseconds(0))
        let asked = Observed([RedisEndpoint]())
        let map = try ClusterMap(.array([range(0, 1, 7)]), from: source)
        let directory = ClusterDirectory(seeds: [place(1), place(2)], now: { now.value }) {
            endpoint throws(RedisTierError) in
            asked.change { $0.append(endpoint) }
            guard endpoint == self.place(2) || endpoint == self.place(7) else {
                throw RedisTierError(.unreachable, "away")
            }
            return map
        }
        #expect(directory.map == nil)
        #expect(try await directory.refresh() == map && directory.map == map)
        let count = asked.value.count
        #expect(asked.value.last == place(2) && count <= 2)
        now.change { $0 = .uptimeNanoseconds(99_999_999) }
        #expect(try await directory.refresh() == map && asked.value.count == count)
        now.change { $0 = .uptimeNanoseconds(100_000_000) }
        #expect(try await directory.refresh() == map)
        // A node that the map names is asked first.
        #expect(asked.value.count == count + 1 && asked.value.last == place(7))
    }

    @Test func allCallersShareOneQuestion() async throws {
        let gate = Latch()
        let asked = Observed(0)
        let map = try ClusterMap(.array([]), from: source)
        let directory = ClusterDirectory(seeds: [place(1)]) { _ throws(RedisTierError) in
            asked.change { $0 += 1 }
            await gate.wait()
            return map
        }
        async let first = directory.refresh()
        await asked.wait { $0 == 1 }
        async let second = directory.refresh()
        gate.open()
        #expect(try await first == map)
        #expect(try await second == map)
        #expect(asked.value == 1)
    }
}
