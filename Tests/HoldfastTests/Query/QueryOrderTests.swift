import HoldfastTesting
import Testing

@testable import Holdfast

/// Thirty purges, updates and fetches of other calls, in many orders: the query shows the last one,
/// and shows none twice.
@Suite(.timeLimit(.minutes(20))) struct QueryOrderTests {
    @Test func noChangeIsLostOrRepeated() {
        for seed: UInt64 in 0..<1_000 {
            var world = QueryWorld(seed: seed)
            world.run()
            #expect(world.problems == [], "seed \(seed)")
        }
    }
}

/// A query with a store, an origin and other callers, whose steps happen in a random order.
private struct QueryWorld {
    typealias State = QueryState<String>

    private struct Entry {
        var text: String
        var version: Int64
        var isStale = false
        var isInvalidated = false
    }

    /// A request to the origin. It is answered, and its response stored, in steps of its own.
    private struct Request {
        var fence: Int
        var text: String?
    }

    private enum Task: CaseIterable {
        case purge, remove, update, publish, fetch
    }

    private var random: SeededRandom
    private var state = State()
    private var tasks: [Task]

    private var entry: Entry?
    private var lastVersion: Int64 = 0
    /// The number of purges, removals and updates.
    private var fence = 0
    /// The number of the origin's content.
    private var content = 0
    private var updates = 0
    /// The origin's content at the last purge or update. The query must end with this or newer.
    private var least = 0

    private var reads = 0
    private var snapshots: [Delivery<String>?] = []
    private var request: Request?
    private var results: [Delivery<String>] = []
    private var others: [Request] = []
    private var changes: [(StoreChange.Kind, isUpdate: Bool)] = []

    /// The contents that were shown, in order.
    private var history: [String] = []
    private var lastShownVersion: Int64 = 0
    private var contentNumber = 0
    private(set) var problems: [String] = []

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        tasks = (0..<30).map { _ in .fetch }
        for index in tasks.indices { tasks[index] = Task.allCases.randomElement(using: &random) ?? .fetch }
        if Bool.random(using: &random) { store("content 0", isStale: Bool.random(using: &random)) }
    }

    mutating func run() {
        take(.started)
        var steps = 0
        while let step = possibleSteps.randomElement(using: &random) {
            take(step)
            steps += 1
            if steps == 20_000 { return problems.append("The query does not come to rest.") }
        }
        checkEnd()
    }

    // MARK: Steps

    private enum Step {
        case task, answer, answerOther, finishRequest, finishOther, read, deliverRead, deliverResult, deliverChange
    }

    private var possibleSteps: [Step] {
        var steps: [Step] = []
        if !tasks.isEmpty { steps.append(.task) }
        if request?.text == nil, request != nil { steps.append(.answer) }
        if request?.text != nil { steps.append(.finishRequest) }
        if others.first.map({ $0.text == nil }) == true { steps.append(.answerOther) }
        if others.first?.text != nil { steps.append(.finishOther) }
        if reads > 0 { steps.append(.read) }
        if !snapshots.isEmpty { steps.append(.deliverRead) }
        if !results.isEmpty { steps.append(.deliverResult) }
        if !changes.isEmpty { steps.append(.deliverChange) }
        return steps
    }

    private mutating func take(_ step: Step) {
        switch step {
        case .task: begin(tasks.removeFirst())
        case .answer: request?.text = "content \(content)"
        case .answerOther: others[0].text = "content \(content)"
        case .finishRequest:
            guard let done = request, let text = done.text else { return }
            request = nil
            finish(done)
            results.append(.network(text))
        case .finishOther: finish(others.removeFirst())
        case .read:
            reads -= 1
            snapshots.append(snapshot)
        case .deliverRead: take(.read(snapshots.removeFirst(), .automatic))
        case .deliverResult: take(.fetched(results.removeFirst()))
        case .deliverChange:
            let change = changes.removeFirst()
            take(.changed(change.0, isUpdate: change.isUpdate))
        }
    }

    private mutating func begin(_ task: Task) {
        switch task {
        case .publish: content += 1
        case .fetch: others.append(Request(fence: fence))
        case .purge:
            invalidate()
            entry?.isInvalidated = true
        case .remove:
            invalidate()
            entry = nil
        case .update:
            guard entry != nil else { return }
            invalidate()
            updates += 1
            lastVersion += 1
            entry = Entry(text: "update \(updates)", version: lastVersion, isStale: true)
            changes[changes.count - 1] = (.stored, isUpdate: true)
        }
    }

    private mutating func invalidate() {
        fence += 1
        least = content
        changes.append((.invalidated, isUpdate: false))
    }

    private mutating func finish(_ done: Request) {
        // A response that was requested before an invalidation is not stored.
        guard done.fence == fence, let text = done.text else { return }
        store(text, isStale: false)
        changes.append((.stored, isUpdate: false))
    }

    private mutating func store(_ text: String, isStale: Bool) {
        lastVersion += 1
        entry = Entry(text: text, version: lastVersion, isStale: isStale)
    }

    private var snapshot: Delivery<String>? {
        entry.map { .stored($0.text, $0.version, isStale: $0.isStale, isInvalidated: $0.isInvalidated) }
    }

    // MARK: The query

    private mutating func take(_ event: State.Event) {
        for action in state.handle(event) {
            switch action {
            case .read: reads += 1
            case .fetch(.ifNeeded):
                if let snapshot, !snapshot.emission.isStale { results.append(snapshot) } else { ask() }
            case .fetch(.always): ask()
            case .wait, .end: problems.append("The query has no reason for \(action).")
            }
        }
        if reads + snapshots.count > 1 { problems.append("Two reads are in progress.") }
        note()
    }

    private mutating func ask() {
        if request != nil || !results.isEmpty { problems.append("Two fetches are in progress.") }
        request = Request(fence: fence)
    }

    private mutating func note() {
        guard let shown = state.shown else { return }
        if let version = shown.bodyID {
            if version < lastShownVersion { problems.append("Version \(version) follows \(lastShownVersion).") }
            lastShownVersion = version
        }
        guard state.contentNumber != contentNumber else { return }
        contentNumber = state.contentNumber
        let text = shown.emission.value
        if history.last == text { problems.append("'\(text)' is shown again at once.") }
        if text.hasPrefix("update"), history.contains(text) { problems.append("'\(text)' is repeated.") }
        history.append(text)
    }

    private mutating func checkEnd() {
        if state.isBusy { problems.append("The query is busy, but nothing is in progress.") }
        guard let shown = state.shown?.emission else { return problems.append("Nothing is shown.") }
        if let entry, !entry.isInvalidated, entry.text != shown.value {
            problems.append("'\(entry.text)' is stored, but '\(shown.value)' is shown.")
        }
        guard let number = Int(shown.value.split(separator: " ").last ?? ""), shown.value.hasPrefix("content") else {
            return problems.append("'\(shown.value)' is shown, but the origin was not asked after that update.")
        }
        if number < least { problems.append("Content \(number) is shown, but content \(least) was purged later.") }
    }
}
