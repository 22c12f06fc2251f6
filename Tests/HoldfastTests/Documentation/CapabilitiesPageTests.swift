import Foundation
import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// The page `docs/capabilities.md`.
@Suite(.timeLimit(.minutes(20))) struct CapabilitiesPageTests {
    typealias GetFeed = GettingStartedTests.GetFeed
    typealias Feed = GettingStartedTests.Feed

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")

    /// Each name in the tables under "Tested by": a suite, a suite and its test, or a path.
    private static func namedTests() throws -> [String] {
        let page = try String(contentsOf: root.appending(path: "docs/capabilities.md"), encoding: .utf8)
        var names: [String] = []
        for section in page.split(separator: "\n## ") where section.contains("| Capability | Tested by |") {
            for row in section.split(separator: "\n") where row.hasPrefix("| ") {
                guard let cell = row.split(separator: " | ").last, row != "| Capability | Tested by |" else { continue }
                let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
                names += parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
            }
        }
        return names
    }

    /// The text of every Swift file of the tests.
    private static func sources() throws -> [String] {
        let tests = root.appending(path: "Tests").path
        let paths = try FileManager.default.subpathsOfDirectory(atPath: tests)
        return try paths.filter { $0.hasSuffix(".swift") && !$0.contains(".build") }
            .map { try String(contentsOfFile: "\(tests)/\($0)", encoding: .utf8) }
    }

    @Test func namedTestsExist() throws {
        let names = try Self.namedTests()
        let sources = try Self.sources()
        #expect(names.count > 100)
        for name in names {
            if name.contains("/") {
                #expect(FileManager.default.fileExists(atPath: Self.root.appending(path: name).path), "\(name)")
                continue
            }
            let parts = name.split(separator: ".")
            let suite = sources.filter { $0.contains("struct \(parts[0]) {") }
            #expect(!suite.isEmpty, "There is no suite '\(name)'.")
            guard parts.count == 2 else { continue }
            #expect(suite.contains { $0.contains("func \(parts[1])(") }, "There is no test '\(name)'.")
        }
    }

    private func run(_ body: (TestClient) async throws -> Void) async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(GettingStartedTests.url, repeating: .ok(GettingStartedTests.content))
            try await body(test)
        }
    }

    @Test func streamBecomesAnObservable() async throws {
        try await run { test in
            let seen = Events()
            let feed = test.client.startWith(GetFeed(userID: "harbour")).asObservable()
            let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
            let disposable = feed.start { event in
                seen.append(event)
                if event != "next" { continuation.finish() }
            }
            for await _ in ended {}
            disposable.dispose()
            #expect(seen.all == ["next", "completed"])
        }
    }

    @Test func callbacksFeedASubject() async throws {
        try await run { test in
            let client = test.client
            let subject = PassthroughSubject<Emission<Feed>, HoldfastError>()
            let subscription = client.startWith(GetFeed(userID: "harbour")).subscribe(
                onNext: { subject.send($0) },
                onError: { subject.send(completion: .failure($0)) },
                onCompleted: { subject.send(completion: .finished) }
            )
            await subscription.finished()
            #expect(subject.sent.withLock { $0 } == ["value", "finished"])
        }
    }

    @Test func pluginCountsRequestsUnderWay() async throws {
        let counts = Mutex<[Int]>([])
        let indicator = Indicator { count in counts.withLock { $0.append(count) } }
        try await withTestClient(.init(environment: .production, plugins: [indicator])) { test in
            test.transport.script(
                GettingStartedTests.url,
                .ok(GettingStartedTests.content),
                .failure(.connect)
            )
            _ = try await test.client.fetch(GetFeed(userID: "harbour"))
            _ = try? await test.client.fetch(GetFeed(userID: "harbour"), .networkOnly)
        }
        #expect(counts.withLock { $0 } == [1, 0, 1, 0])
    }

    @Test func encoderPrintsJSON() throws {
        struct Repository: Codable { var id: Int, name: String }
        let repository = Repository(id: 1, name: "holdfast")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let text = String(decoding: try encoder.encode(repository), as: UTF8.self)
        #expect(text.split(separator: "\n").count == 4)
    }
}

extension EmissionStream {
    func asObservable() -> Observable<Emission<Value>> {
        Observable.create { observer in
            let subscription = subscribe(
                onNext: { observer.onNext($0) },
                onError: { observer.onError($0) },
                onCompleted: { observer.onCompleted() }
            )
            return Disposables.create { subscription.cancel() }
        }
    }
}

final class Indicator: ObservingPlugin {
    private let count = Mutex(0)
    private let show: @Sendable (Int) -> Void

    init(show: @escaping @Sendable (Int) -> Void) { self.show = show }

    func willSend(_ request: SentRequest, for call: CallInfo) { change(by: 1) }

    func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    ) {
        // A response ends with its content.
        if case .failure = result { change(by: -1) }
    }

    func didEnd(
        _ content: ReceivedContent,
        of response: HTTPResponse,
        to request: SentRequest,
        for call: CallInfo
    ) {
        change(by: -1)
    }

    private func change(by step: Int) {
        let now = count.withLock { count in
            count += step
            return count
        }
        show(now)
    }
}

// The parts of RxSwift and Combine that the page uses.

struct Observable<Element: Sendable>: Sendable {
    let subscribe: @Sendable (AnyObserver<Element>) -> Disposable

    static func create(_ subscribe: @escaping @Sendable (AnyObserver<Element>) -> Disposable) -> Observable {
        Observable(subscribe: subscribe)
    }

    func start(_ onEvent: @escaping @Sendable (String) -> Void) -> Disposable {
        subscribe(AnyObserver(onEvent: onEvent))
    }
}

struct AnyObserver<Element: Sendable>: Sendable {
    let onEvent: @Sendable (String) -> Void
    func onNext(_ element: Element) { onEvent("next") }
    func onError(_ error: any Error) { onEvent("error") }
    func onCompleted() { onEvent("completed") }
}

struct Disposable: Sendable {
    let dispose: @Sendable () -> Void
}

enum Disposables {
    static func create(_ dispose: @escaping @Sendable () -> Void) -> Disposable { Disposable(dispose: dispose) }
}

final class PassthroughSubject<Output: Sendable, Failure: Error>: Sendable {
    enum Completion { case finished, failure(Failure) }
    let sent = Mutex<[String]>([])
    func send(_ value: Output) { sent.withLock { $0.append("value") } }
    func send(completion: Completion) { sent.withLock { $0.append("finished") } }
}
