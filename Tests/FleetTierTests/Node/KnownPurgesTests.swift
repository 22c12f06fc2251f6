import HTTPCache
import HTTPCacheSemantics
import Testing

@testable import FleetTier

/// The judgement of other nodes' responses by the purges that are known.
@Suite(.timeLimit(.minutes(20))) struct KnownPurgesTests {
    private func place(_ number: UInt64, epoch: UInt64 = 1) -> LogPosition { LogPosition(epoch: epoch, number: number) }
    private func key(_ path: String = "/a/b") throws -> StoreKey {
        StoreKey(target: try TargetURI("https://a.example\(path)"))
    }

    private func scopes() throws -> [InvalidationScope] {
        [
            .all, .key(try key()), .target(try TargetURI("https://a.example/a/b")), .tag("t"),
            .prefix(try TargetPrefix("https://a.example/a")), .host(try TargetHost("a.example")),
        ]
    }

    @Test func aPurgeBehindTheFenceMakesAResponseOld() throws {
        for scope in try scopes() {
            var known = KnownPurges(lowWaterMark: place(0))
            known.note(scope, at: place(5))
            #expect(try !known.isCurrent(key(), tags: ["t"], fencingPosition: place(4)), "\(scope)")
            #expect(try known.isCurrent(key(), tags: ["t"], fencingPosition: place(5)), "\(scope)")
            // An earlier place that is noted later changes nothing.
            known.note(scope, at: place(3))
            #expect(try !known.isCurrent(key(), tags: ["t"], fencingPosition: place(4)), "\(scope)")
            if case .all = scope { continue }
            #expect(
                try known.isCurrent(
                    StoreKey(target: TargetURI("https://b.example/x")),
                    tags: ["u"],
                    fencingPosition: place(4)
                )
            )
        }
    }

    @Test func aFenceBeforeTheFloorIsNotJudged() throws {
        var known = KnownPurges(lowWaterMark: place(7))
        #expect(try !known.isCurrent(key(), tags: [], fencingPosition: place(6)))
        #expect(try known.isCurrent(key(), tags: [], fencingPosition: place(7)))
        known.raiseLowWaterMark(to: place(3))
        #expect(known.lowWaterMark == place(7))
    }

    @Test func forgottenPurgesRaiseTheFloor() throws {
        var known = KnownPurges(lowWaterMark: place(0))
        for number in 1...UInt64(KnownPurges.capacity + 1) { known.note(.tag("\(number)"), at: place(number)) }
        #expect(known.lowWaterMark > place(UInt64(KnownPurges.capacity) / 3))
        #expect(try !known.isCurrent(key(), tags: ["1"], fencingPosition: place(1)))
        let last = UInt64(KnownPurges.capacity + 1)
        #expect(try !known.isCurrent(key(), tags: ["\(last)"], fencingPosition: place(last - 1)))
        #expect(try known.isCurrent(key(), tags: ["other"], fencingPosition: place(last - 1)))
    }

    @Test func forgottenPrefixesRaiseTheFloor() throws {
        var known = KnownPurges(lowWaterMark: place(0))
        for number in 1...UInt64(KnownPurges.wideCapacity + 1) {
            known.note(.prefix(try TargetPrefix("https://a.example/\(number)/")), at: place(number))
        }
        #expect(known.lowWaterMark == place(1))
        #expect(try !known.isCurrent(key("/2/x"), tags: [], fencingPosition: place(1)))
        #expect(try known.isCurrent(key("/1/x"), tags: [], fencingPosition: place(1)))
    }
}
