import Testing

@testable import soak

/// The oracle finds violations: each test gives it a history that is a violation, beside a correct
/// one.
@Suite(.timeLimit(.minutes(20))) struct OracleTests {
    @Test func acceptsOriginsResponse() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        #expect(story.get(version: 1, "fwd=uri-miss; stored", at: 9.9) == [])
        #expect(story.get(version: 1, "hit; ttl=1", age: 1, at: 11) == [])
    }

    @Test func findsChangedByte() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        story.alter = { $0.content[$0.content.count - 1] ^= 1 }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [.content])
    }

    @Test func findsTruncatedBody() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        story.alter = { $0.content.removeLast() }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [.content])
    }

    @Test func findsBodyOfAnotherVersion() throws {
        // A HEAD without validators put new fields before an old body.
        var story = try Story("/plain/1")
        story.origin(version: 1, at: 10)
        story.origin(version: 2, at: 11, confirms: false)
        let old = story.representation(version: 1).bytes
        story.alter = { $0.content = old }
        #expect(story.get(version: 2, "hit; ttl=3600", age: 0, at: 12).contains(.content))
    }

    @Test func findsFresheningWithoutValidator() throws {
        var story = try Story("/plain/1")
        story.origin(version: 1, at: 10)
        story.origin(version: 1, at: 5_000, confirms: false)
        #expect(story.get(version: 1, "hit; ttl=3599", age: 1, at: 5_001) == [.freshness])
    }

    @Test func findsResponseToAnotherRequest() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        story.alter = { $0.set("x-soak-target", "/page/2") }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [.otherResource])
    }

    @Test func findsResponseToAnotherUniqueRequest() throws {
        var story = try Story("/once/1")
        story.alter = { $0.set("x-soak-number", "other") }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [.otherResource])
        story.alter = { _ in }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [])
    }

    @Test func findsAnotherPrincipalsResponse() throws {
        var story = try Story("/mine/1")
        story.selector = "p1"
        story.origin(version: 1, at: 10)
        story.alter = { $0.set("x-soak-selector", "p2") }
        #expect(story.get(version: 1, "hit; ttl=1", age: 0, at: 10.5) == [.otherPrincipal])
    }

    @Test func findsAnotherEntityTag() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        story.alter = { $0.set("etag", "\"v2--\"") }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [.tag])
    }

    @Test func findsAnotherStatus() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        story.alter = { $0.status = 404 }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [.status])
    }

    @Test func findsVersionThatNoOriginSent() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        #expect(story.get(version: 2, "fwd=uri-miss", at: 9.9) == [.unknownVersion])
    }

    @Test func acceptsVersionThatItHasForgotten() throws {
        var story = try Story("/plain/1")
        let last = History.limit + 10
        for version in 1...last { story.origin(version: version, at: 10 + Double(version) / 1000) }
        let hit = "hit; ttl=3500"
        #expect(story.get(version: 1, hit, age: 100, at: 110) == [])
        #expect(story.get(version: last, hit, age: 100, at: 110) == [])
        #expect(story.get(version: last + 1, hit, age: 100, at: 110) == [.unknownVersion])
        #expect(story.change("PUT", version: 2, at: 111) == [])
        #expect(story.get(version: 1, hit, age: 102, at: 112) == [.invalidation])
    }
}

/// Judges which versions may be served from the store at which time.
@Suite(.timeLimit(.minutes(20))) struct ValidityTests {
    @Test(arguments: [(11.5, false), (14.0, true)]) func findsStaleResponseReportedAsFresh(at: Double, isWrong: Bool)
        throws
    {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        story.origin(version: 2, at: 11)
        let age = Int(at - 10)
        #expect(story.get(version: 1, "hit; ttl=0", age: age, at: at) == (isWrong ? [.freshness] : []))
    }

    @Test func findsPositiveTimeToLiveOfStaleResponse() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        #expect(story.get(version: 1, "hit; ttl=-9; detail=unreachable", age: 10, at: 20) == [])
        #expect(story.get(version: 1, "hit; ttl=1; detail=unreachable", age: 10, at: 20) == [.freshness])
        #expect(story.get(version: 1, "hit; ttl=-9", age: 10, at: 10.5) == [.freshness])
    }

    @Test func findsWrongAge() throws {
        var story = try Story("/ware/1")
        story.origin(version: 1, at: 10)
        #expect(story.get(version: 1, "hit; ttl=3580", age: 20, at: 30) == [])
        #expect(story.get(version: 1, "hit; ttl=3600", age: 0, at: 30) == [.age])
        #expect(story.get(version: 1, "hit; ttl=3500", age: 100, at: 30) == [.age])
    }

    @Test(arguments: ["PUT", "POST", "DELETE"]) func findsInvalidatedResponse(method: String) throws {
        var story = try Story("/ware/1")
        story.origin(version: 1, at: 10)
        story.origin(version: 2, at: 20, confirms: false)
        #expect(story.change(method, version: 2, at: 19.9) == [])
        #expect(story.get(version: 1, "hit; ttl=3589; detail=unreachable", age: 11, at: 21) == [.invalidation])
        #expect(story.get(version: 1, "hit; ttl=-1; detail=unreachable", age: 11, at: 21) == [.invalidation])
        #expect(story.get(version: 1, "hit; ttl=3589; detail=invalidated", age: 11, at: 21) == [.invalidation])
        #expect(story.get(version: 1, "hit; ttl=-1; detail=invalidated", age: 11, at: 21) == [])
        // Under way when the change succeeded.
        #expect(story.get(version: 1, "hit; ttl=3590", age: 10, at: 19.95) == [])
    }

    @Test func findsResponseFromLyingConnection() throws {
        var story = try Story("/lie/head/1")
        story.origin(version: 2, at: 10)
        story.oracle.originLies(story.resource, story.name(version: 2), how: "", at: 10.1)
        #expect(story.get(version: 2, "fwd=uri-miss", at: 9.9) == [])
        #expect(story.get(version: 2, "hit; ttl=59", age: 1, at: 11) == [])
        #expect(story.get(version: 2, "hit; ttl=57", age: 3, at: 13) == [.tainted])
    }

    @Test func excusesLieThatCrossedWithRequest() throws {
        var story = try Story("/lie/own/1")
        story.origin(version: 2, at: 10)
        story.oracle.originLies(story.resource, story.name(version: 2), how: "", at: 10.1)
        story.oracle.originForgives(story.resource, story.name(version: 2), at: 10.2)
        #expect(story.get(version: 2, "hit; ttl=57", age: 3, at: 13) == [])
    }

    @Test func excusesLieThatKilledGatewayDidNotRead() throws {
        var story = try Story("/lie/idle/1")
        story.origin(version: 2, at: 10)
        story.oracle.originLies(story.resource, story.name(version: 2), how: "", at: 10.1)
        story.oracle.troubleBegins(.gateway, at: 10.2)
        story.oracle.troubleEnds(.gateway, at: 11)
        #expect(story.get(version: 2, "hit; ttl=57", age: 3, at: 13) == [])
    }

    @Test func findsResponseSentBeforeItsRequest() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        #expect(story.get(version: 1, "fwd=stale; fwd-status=304; ttl=2", age: 0, at: 10.5) == [.forwarded])
        #expect(story.get(version: 1, "fwd=uri-miss; collapsed", at: 10.5) == [])
    }

    @Test func findsSmuggledResponseOnceDetectable() throws {
        var story = try Story("/lie/second/1")
        story.oracle.originSmuggles(7, at: 10)
        story.origin(version: 2, at: 9)
        story.alter = {
            $0.set("x-soak-target", "/smuggled/7")
            $0.set("x-soak-smuggled", "7")
        }
        #expect(story.get(version: 2, "fwd=uri-miss", at: 11) == [.otherResource])
        // Under way when it was written: no gateway can detect that.
        #expect(story.get(version: 2, "fwd=uri-miss", at: 9.5) == [])
    }
}

/// Connections and interim responses.
@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
    @Test func findsLostRequest() throws {
        var story = try Story("/page/1")
        #expect(story.judge(.ended("closed"), at: 10) == [.vanished])
        #expect(story.judge(.timedOut, at: 10) == [.timeOut])
        #expect(story.judge(.malformed("no status"), at: 10) == [.malformed])
    }

    @Test func findsRequestsLostByClosedConnection() throws {
        var story = try Story("/page/1")
        story.origin(version: 1, at: 10)
        story.alter = { $0.set("connection", "close") }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [])
        story.behind = 1
        #expect(story.get(version: 1, "fwd=uri-miss", at: 9.9) == [.vanished])
    }

    @Test func excusesConnectionOfKilledGateway() throws {
        var story = try Story("/page/1")
        story.oracle.troubleBegins(.gateway, at: 9)
        story.oracle.troubleEnds(.gateway, at: 10.1)
        #expect(story.judge(.ended("reset"), at: 10) == [])
        #expect(story.judge(.ended("reset"), at: 20) == [.vanished])
    }

    @Test(arguments: [400, 404, 408, 431, 500]) func findsErrorWithoutCause(status: Int) throws {
        var story = try Story("/page/1")
        let response = ReceivedResponse(status: status, fields: [])
        #expect(story.judge(.response(response), at: 10) == [.refused])
    }

    @Test func countsUnreachableOriginsWithoutCause() throws {
        var story = try Story("/page/1")
        let response = ReceivedResponse(status: 504, fields: [])
        #expect(story.judge(.response(response), at: 10) == [])
        #expect(story.oracle.unexplained == 1)
        story.oracle.troubleBegins(.origin, at: 20)
        #expect(story.judge(.response(response), at: 21) == [])
        #expect(story.oracle.unexplained == 1)
    }

    @Test(arguments: [(0, [Finding.Rule.interim]), (1, []), (2, [.interim])])
    func findsLostOrDoubledInterimResponse(count: Int, findings: [Finding.Rule]) throws {
        var story = try Story("/early/1")
        story.alter = { response in
            response.interim = (0..<count).map { _ in .init(status: 103, fields: [("x-soak-number", "n")]) }
        }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 10) == findings)
    }

    @Test func findsAnotherRequestsInterimResponse() throws {
        var story = try Story("/early/1")
        story.alter = { $0.interim = [.init(status: 103, fields: [("x-soak-number", "other")])] }
        #expect(story.get(version: 1, "fwd=uri-miss", at: 10) == [.interim])
    }

    @Test func findsContentThatOriginDidNotReceive() throws {
        var story = try Story("/upload/1")
        story.content = [1, 2, 3]
        let digest = [UInt8]([1, 2, 3]).digest
        story.alter = { $0.set("x-soak-took", "3 \(digest)") }
        #expect(story.change("POST", version: 1, at: 10) == [])
        story.alter = { $0.set("x-soak-took", "2 \(digest)") }
        #expect(story.change("POST", version: 1, at: 10) == [.uploaded])
    }
}
