import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCacheOperations

/// A recording is a value: it takes exchanges and returns the requests of its job.
@Suite(.timeLimit(.minutes(20))) struct JobRecordingTests {
    private func exchange(
        _ ordinal: UInt64,
        at path: String = "/x",
        method: HTTPRequest.Method = .get,
        _ fields: HTTPFields = [:],
        _ ending: JobExchange.Ending = .kept
    ) throws -> JobExchange {
        let request = JobRequest(method: method, target: try TargetURI("https://a.example\(path)"), fields: fields)
        return JobExchange(ordinal: ordinal, request: request, ending: ending)
    }

    private func recorded(_ exchanges: [JobExchange], _ limits: JobRecording.Limits = .init()) -> JobRecording {
        var recording = JobRecording(limits: limits)
        for exchange in exchanges { recording.take(exchange) }
        return recording
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func requestsAreInTheOrderOfFirstAskingHoweverExchangesEnd(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let exchanges = try (1...30).map { try exchange(UInt64($0), at: "/\($0 % 10)") }.shuffled(using: &random)
        let paths = recorded(exchanges).entries.map(\.request.target.path)
        #expect(paths == (1...10).map { "/\($0 % 10)" })
    }

    @Test func variantsAreRequestsOfTheirOwn() throws {
        let recording = recorded([
            try exchange(1, [.acceptLanguage: "de"]), try exchange(2, [.acceptLanguage: "en"]),
            try exchange(3, [.acceptLanguage: "de"]), try exchange(4, method: .head),
        ])
        #expect(recording.entries.map(\.request.fields) == [[.acceptLanguage: "de"], [.acceptLanguage: "en"], [:]])
        #expect(recording.entries.map(\.request.method) == [.get, .get, .head])
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func eachVariantIsWhereItWasFirstRequested(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let exchanges = try (1...30).map { try exchange(UInt64($0), [.acceptLanguage: "\($0 % 5)"]) }
        let recording = recorded(exchanges.shuffled(using: &random))
        #expect(recording.entries.map { $0.request.fields[.acceptLanguage] } == ["1", "2", "3", "4", "0"])
        #expect(recording.count.requests == 5)
        #expect(recording.count.bytes == recording.entries.reduce(0) { $0 + $1.line.count })
    }

    /// A request that failed at first, and succeeded when it was repeated, has its response.
    @Test func laterResponseReplacesFailure() throws {
        let failed = JobExchange.Ending.failed(code: "origin-unreachable", message: "")
        for exchanges in [
            [try exchange(1, [.accept: "*/*"], failed), try exchange(2)],
            [try exchange(1), try exchange(2, [.accept: "*/*"], .passed(.statusAboutRequest))],
        ] {
            let entries = recorded(exchanges).entries
            #expect(entries.count == 1 && entries.first?.why == nil && entries.first?.request.fields == [:])
        }
        let entries = recorded([try exchange(1, [:], failed), try exchange(2, [:], .passed(.responseNoStore))]).entries
        #expect(entries.map(\.why) == ["origin-unreachable"])
    }

    /// Mutant: a stored response hides a second identity.
    @Test func secondIdentityStays() throws {
        for exchanges in [
            [try exchange(1), try exchange(2, [:], .excluded(.credentials))],
            [try exchange(1, [:], .excluded(.credentials)), try exchange(2)],
        ] {
            let recording = recorded(exchanges)
            #expect(Set(recording.entries.map(\.exclusion)) == [nil, .credentials])
            #expect(recording.otherIdentities == ["https://a.example": 1])
        }
    }

    @Test func unsafeRequestsAndSecretURLsAreCounted() throws {
        var exchanges = [
            try exchange(1, method: .post, [:], .unsafe), try exchange(2, method: .post, [:], .unsafe),
            try exchange(3, method: .delete, [:], .unsafe),
            try exchange(4, at: "/?page_token=x", [:], .excluded(.parameters)),
        ]
        var recording = recorded(exchanges)
        #expect(recording.passed == ["POST": 2, "DELETE": 1] && recording.doubtfulCount == 1)
        #expect(recording.doubtfulNames == ["page_token"])
        #expect(recording.entries.isEmpty)
        // Clients can invent methods.
        for number in 0..<100 {
            let method = try #require(HTTPRequest.Method("M\(number)"))
            exchanges.append(try exchange(5, method: method, [:], .unsafe))
        }
        recording = recorded(exchanges)
        #expect(recording.passed.count == 17 && recording.passed.values.reduce(0, +) == 103)
    }

    @Test func cookiesThatAreLeftOutAreNamed() throws {
        let header = JobFile.Header(
            name: try #require(JobName("deps")),
            made: Timestamp(milliseconds: 0),
            command: "",
            partition: try #require(JobPartition(String(repeating: "0", count: 32)))
        )
        var exchanges = [try exchange(1), try exchange(2, at: "/other", [:], .passed(.responseNoStore))]
        exchanges[0].cookies = ["sid", "__cf_bm"]
        exchanges[1].cookies = ["other"]
        #expect(recorded(exchanges).completing(header).cookies == ["sid", "__cf_bm"])
        // Origins can invent names.
        exchanges[0].cookies = (0..<100).map { "c\($0)" }
        #expect(recorded(exchanges).cookies.count == 16)
        exchanges[0].cookies = [String(repeating: "c", count: 65)]
        #expect(recorded(exchanges).cookies.isEmpty)
    }

    /// Mutant: failures of any number of origins are kept.
    @Test func firstFailureOfEachOriginIsKept() throws {
        func failed(_ origin: String, _ message: String) throws -> JobExchange {
            let request = JobRequest(method: .get, target: try TargetURI("\(origin)/x?key=5ecret"))
            let ending = JobExchange.Ending.failed(code: "origin-unreachable", message: message)
            return JobExchange(ordinal: 1, request: request, ending: ending)
        }
        let two = [try failed("https://a.example", "one"), try failed("https://a.example", "two")]
        let recording = recorded(two + [try failed("http://a.example:81", "three")])
        #expect(recording.failures == ["https://a.example": "one", "http://a.example:81": "three"])
        #expect(recording.count.failures == recording.failures)
        let many = recorded(try (0..<100).map { try failed("https://a\($0).example", "one") })
        #expect(many.failures.count == 16)
    }

    @Test func limitsEndTheRecording() throws {
        var limits = JobRecording.Limits()
        limits.requests = 3
        let three = recorded(try (1...3).map { try exchange(UInt64($0), at: "/\($0)") }, limits)
        let repeated = recorded(try (1...9).map { try exchange(UInt64($0), at: "/\($0 % 3)") }, limits)
        let four = recorded(try (1...4).map { try exchange(UInt64($0), at: "/\($0)") }, limits)
        #expect(!three.isFull && !repeated.isFull && four.isFull)
        limits = JobRecording.Limits()
        limits.length = 200
        let long = recorded(try (1...9).map { try exchange(UInt64($0), at: "/\($0)") }, limits)
        #expect(long.isFull && long.entries.count < 9)
    }
}
