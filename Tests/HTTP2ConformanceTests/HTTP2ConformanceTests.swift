import HTTP2Cases
import NIOCore
import NIOPosix
import Testing

/// RFC 9113 and RFC 7541 in raw frames: the table of the module HTTP2Cases.
@Suite(.timeLimit(.minutes(20))) struct HTTP2ConformanceTests {
    @Test func eachCaseHasItsName() {
        #expect(HTTP2Cases.all.count >= 150)
        #expect(Set(HTTP2Cases.all.map(\.description)).count == HTTP2Cases.all.count)
    }

    @Test(arguments: HTTP2Cases.held)
    func caseHoldsAtAHeldOrigin(_ entry: HTTP2Case) async throws {
        try await CaseGateway.with { gateway in
            let seen = try await gateway.runner().run(entry)
            #expect(entry.expectation.isMet(by: seen, strictly: true), "\(entry.expectation), but got \(seen)")
        }
    }

    @Test(arguments: HTTP2Cases.all.filter { $0.defect == nil })
    func caseHolds(_ entry: HTTP2Case) async throws {
        try await CaseGateway.with { gateway in
            let seen = try await gateway.runner().run(entry)
            #expect(entry.expectation.isMet(by: seen, strictly: true), "\(entry.expectation), but got \(seen)")
        }
    }

    /// A case that holds one day loses its mark.
    @Test(arguments: HTTP2Cases.all.filter { $0.defect != nil })
    func defectIsStillThere(_ entry: HTTP2Case) async throws {
        try await CaseGateway.with { gateway in
            let runner = CaseRunner(
                port: gateway.port,
                group: .singletonMultiThreadedEventLoopGroup,
                patience: .seconds(2)
            )
            let seen = try await runner.run(entry)
            withKnownIssue("\(entry.defect?.description ?? "")", isIntermittent: entry.defect?.isIntermittent == true) {
                #expect(entry.expectation.isMet(by: seen, strictly: true))
            }
        }
    }

    /// Thirty connections at a time play different cases.
    @Test func casesDoNotDisturbEachOther() async throws {
        try await CaseGateway.with { gateway in
            let queue = CaseQueue(HTTP2Cases.all.filter { $0.defect == nil })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        while let entry = await queue.next() {
                            let seen = try await gateway.runner().run(entry)
                            let isMet = entry.expectation.isMet(by: seen, strictly: true)
                            #expect(isMet, "\(entry): \(entry.expectation), but got \(seen)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

/// Gives each case to one taker.
private actor CaseQueue {
    private var rest: [HTTP2Case]

    init(_ cases: [HTTP2Case]) { rest = cases }

    func next() -> HTTP2Case? { rest.popLast() }
}
