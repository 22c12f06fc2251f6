import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Testing

@testable import HoldfastControl

/// The values behind purges: rate, repeated requests, history.
@Suite(.timeLimit(.minutes(20))) struct PurgeValueTests {
    private func instant(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    @Test func fiveHundredPurgesMayComeAtOnceAndFiftyASecondAfterwards() {
        var rate = PurgeRate()
        for _ in 0..<500 { #expect(rate.take(at: instant(0)) == nil) }
        #expect(rate.take(at: instant(0)) == 1)
        for _ in 0..<50 { #expect(rate.take(at: instant(1000)) == nil) }
        #expect(rate.take(at: instant(1000)) == 1)
        // A clock that is set back gives nothing and takes nothing.
        #expect(rate.take(at: instant(0)) == 1)
        for _ in 0..<500 { #expect(rate.take(at: instant(1_000_000)) == nil) }
        #expect(rate.take(at: instant(1_000_000)) != nil)
    }

    /// Leads from the host `gw` to an origin.
    private struct Places: OriginURLFinding {
        func originURLs(of url: TargetURI) -> [OriginURL] {
            guard url.host == "gw", let target = try? TargetURI("https://o.example/v1\(url.requestTarget)") else {
                return []
            }
            return [OriginURL(target, routes: ["shop", "2"])]
        }

        func originPrefixes(of prefix: TargetURI) -> [OriginURL] { originURLs(of: prefix) }
    }

    /// Mutant: `purge-looks-for-redacted-urls`.
    @Test(arguments: ["token", "code", "state", "X-Amz-Signature"])
    func parametersWithSecretNamesAreFoundAsTheyAre(_ name: String) throws {
        var select = PurgeRequest.Selection()
        (select.urls, select.prefixes) = (["http://gw/a?\(name)=S1"], ["http://gw/d?\(name)=S"])
        let purge = PurgeRequest(select).resolved(by: Places())
        #expect(
            try Set(purge.scopes()).isSuperset(of: [
                .target(TargetURI("https://o.example/v1/a?\(name)=S1")),
                .prefix(TargetPrefix(TargetURI("https://o.example/v1/d?\(name)=S"))),
            ])
        )
        #expect(purge.coverage.allSatisfy { !$0.text.contains("=S") })
    }

    /// Mutant: the text that clients send is looked up instead.
    @Test func clientsURLsAreResolvedBesideTheOrigins() throws {
        var select = PurgeRequest.Selection()
        (select.urls, select.prefixes) = (["http://gw/a?b=1", "https://o.example/c"], ["http://gw/d/"])
        let purge = PurgeRequest(select).resolved(by: Places())
        func target(_ text: String) throws -> InvalidationScope { .target(try TargetURI(text)) }
        let scopes = try purge.scopes()
        #expect(
            try Set(scopes) == [
                target("http://gw/a?b=1"), target("https://o.example/c"), target("https://o.example/v1/a?b=1"),
                .prefix(TargetPrefix(TargetURI("http://gw/d/"))),
                .prefix(TargetPrefix(TargetURI("https://o.example/v1/d/"))),
            ]
        )
        #expect(purge.coverage.map(\.text) == ["'https://o.example/v1/d/' (routes 'shop', '2')"])
        // The gateway resolves it by its own routes.
        let json = String(decoding: try JSONEncoder().encode(purge), as: UTF8.self)
        #expect(!json.contains("o.example/v1") && json.contains("gw"))
    }

    /// The route of a PURGE request may depend on its fields. Its URL is for the other nodes of a
    /// fleet, which resolve it by their own routes.
    @Test func urlOfAPURGERequestIsNotResolvedHere() throws {
        var select = PurgeRequest.Selection()
        select.urls = ["https://o.example/c"]
        var purge = PurgeRequest(select)
        purge.clientURL = "http://gw/a?token=S1"
        let expected = try ["https://o.example/c", "http://gw/a?token=S1"]
            .map { InvalidationScope.target(try TargetURI($0)) }
        #expect(try purge.resolved(by: Places()).scopes() == expected)
        let json = String(decoding: try JSONEncoder().encode(purge), as: UTF8.self)
        #expect(!json.contains("gw"))
        // A URL that cannot be parsed does not keep the purge from the origin's URL.
        purge.clientURL = "http://a b/"
        #expect(try purge.scopes().count == 1)
    }

    @Test(
        arguments: [
            ("/item/.*", "/item/"), ("https://a.example/item*", "https://a.example/item"), ("/a/(.*)$", "/a/"),
            ("/**/b", "/"), ("/item/.*?x=1", "/item/"), ("/a", nil), ("/search?q=.*", nil), ("/a*b", nil),
            ("/a.b", nil),
        ] as [(String, String?)]
    )
    func patternsAreRecognized(_ url: String, _ prefix: String?) {
        #expect(PurgePattern.prefix(of: url) == prefix)
    }

    private func name(_ action: IdempotencyTable<Int>.Action) -> String {
        switch action {
        case .perform: "perform"
        case .replay(let result): "replay \(result)"
        case .isUnderWay: "under way"
        case .isAnother: "another"
        }
    }

    @Test func resultIsRepeatedForAnHour() {
        var table = IdempotencyTable<Int>()
        #expect(name(table.begin("a", digest: [1], at: instant(0))) == "perform")
        #expect(name(table.begin("a", digest: [1], at: instant(1))) == "under way")
        #expect(name(table.begin("a", digest: [2], at: instant(1))) == "another")
        table.finish("a", with: 7)
        #expect(name(table.begin("a", digest: [1], at: instant(3_599_999))) == "replay 7")
        #expect(name(table.begin("a", digest: [2], at: instant(3_599_999))) == "another")
        #expect(name(table.begin("a", digest: [2], at: instant(3_600_000))) == "perform")
    }

    @Test func keyOfAFailedRequestMayBeUsedAgain() {
        var table = IdempotencyTable<Int>()
        _ = table.begin("a", digest: [1], at: instant(0))
        table.finish("a", with: nil)
        #expect(name(table.begin("a", digest: [2], at: instant(1))) == "perform")
    }

    @Test func oldestResultIsForgottenBeyondAThousandKeys() {
        var table = IdempotencyTable<Int>()
        for number in 0...1000 {
            #expect(name(table.begin("\(number)", digest: [], at: instant(0))) == "perform")
            table.finish("\(number)", with: number)
        }
        #expect(name(table.begin("1000", digest: [], at: instant(1))) == "replay 1000")
        #expect(name(table.begin("0", digest: [], at: instant(1))) == "perform")
    }

    private func record(_ sequence: Int64, _ tag: String = "t", problem: String? = nil) -> PurgeHistory.Record {
        var selection = PurgeRequest.Selection()
        selection.tags = [tag]
        return PurgeHistory.Record(
            PurgeRequest(selection),
            sequence: sequence,
            at: instant(0),
            by: "uid 0",
            outcome: problem.map { .problem($0) } ?? .matched(.init(ScopeCount(), of: .expire))
        )
    }

    @Test func historyIsReadInPages() {
        var history = PurgeHistory(since: 3)
        for sequence: Int64 in [4, 5, 6, 9] { history.append(record(sequence)) }
        #expect(history.page(after: 0).purges.map(\.sequence) == [4, 5, 6, 9])
        let page = history.page(after: 4, atMost: 2)
        #expect(page.purges.map(\.sequence) == [5, 6] && page.more && page.since == 3)
        #expect(history.page(after: 9).purges.isEmpty && !history.page(after: 9).more)
    }

    @Test func historyIsReadFromItsEnd() {
        var history = PurgeHistory(since: 3)
        #expect(history.page(last: 2).purges.isEmpty)
        for sequence: Int64 in [4, 5, 6, 9] { history.append(record(sequence)) }
        for sequence: Int64 in [4, 5, 6] { history.append(record(sequence, problem: "store-failed")) }
        let page = history.page(last: 2)
        #expect(page.purges.map(\.sequence) == [6, 9] && !page.more && page.since == 3)
        // Those that failed since the purge before the first one.
        #expect(page.failed.map(\.sequence) == [5, 6])
        #expect(history.page(last: 9).purges.count == 4 && history.page(last: 9).failed.count == 3)
    }

    @Test func historyHidesQueriesFromReaders() {
        var history = PurgeHistory(since: 0)
        var selection = PurgeRequest.Selection()
        (selection.urls, selection.prefixes) = (
            ["https://a.example/x?page=hidden"], ["https://a.example/y?p=hidden", "https://b.example/"]
        )
        for problem in [nil, "ending"] {
            let outcome =
                problem.map { PurgeHistory.Record.Outcome.problem($0) } ?? .matched(.init(ScopeCount(), of: .expire))
            history.append(.init(PurgeRequest(selection), sequence: 1, at: instant(0), by: "uid 0", outcome: outcome))
        }
        let hidden = history.page(last: 10).withoutQueries
        for record in hidden.purges + hidden.failed {
            #expect(record.select.urls == ["https://a.example/x?REDACTED"])
            #expect(record.select.prefixes == ["https://a.example/y?REDACTED", "https://b.example/"])
        }
        #expect(hidden.purges.count == 1 && hidden.failed.count == 1)
    }

    @Test func historySaysFromWhereItIsComplete() {
        var history = PurgeHistory(since: 0)
        for sequence in 1...Int64(PurgeHistory.limit + 2) { history.append(record(sequence)) }
        #expect(history.page(after: 0).since == 2 && history.page(after: 0).purges.first?.sequence == 3)
        var large = PurgeHistory(since: 0)
        let tag = String(repeating: "t", count: PurgeHistory.byteLimit / 2)
        for sequence: Int64 in 1...3 { large.append(record(sequence, tag)) }
        #expect(large.page(after: 0).purges.map(\.sequence) == [3] && large.page(after: 0).since == 2)
    }

    @Test func failedPurgesPushOutNoOthersAndAreBounded() {
        var history = PurgeHistory(since: 0)
        history.append(record(1))
        for number in 1...Int64(PurgeHistory.failedLimit + 1) {
            history.append(record(number, problem: "store-failed"))
        }
        let page = history.page(after: 0)
        #expect(page.since == 0 && page.purges.map(\.sequence) == [1] && !page.more)
        #expect(page.failed.count == PurgeHistory.failedLimit && page.failed.first?.sequence == 2)
        #expect(history.page(after: 100).failed.map(\.sequence) == [100, 101])
        let tag = String(repeating: "t", count: PurgeHistory.failedByteLimit / 2)
        for number: Int64 in 200...202 { history.append(record(number, tag, problem: "ending")) }
        #expect(history.page(after: 0).failed.map(\.sequence) == [202])
    }

    @Test func historyHoldsNoSecretParameters() throws {
        var selection = PurgeRequest.Selection()
        selection.urls = ["https://a.example/x?token=hunter2&page=1"]
        #expect(selection.redacted.urls.first?.contains("hunter2") == false)
        #expect(selection.redacted.urls.first?.contains("page=1") == true)
    }

    @Test func sameSelectorTwiceIsOneScope() throws {
        var selection = PurgeRequest.Selection()
        selection.urls = ["https://a.example/x", "HTTPS://A.example:443/x"]
        selection.tags = ["a", "a"]
        #expect(try PurgeRequest(selection).scopes().count == 2)
    }
}
