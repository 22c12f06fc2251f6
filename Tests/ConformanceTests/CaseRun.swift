import HTTPCacheSemantics

/// The way into the cache under test.
protocol CaseDoor: Sendable {
    /// The clock of cache and origin.
    var now: Timestamp { get }
    /// Moves it.
    func advance(seconds: Int) async
    /// Sends a request to the cache, and reads the whole response.
    func send(method: String, target: String, fields: WireFields, content: String?) async throws -> DoorResponse
    /// Returns when the origin has received the request of this step, and the cache has processed
    /// the response.
    func waitForBackground(step: Int) async
}

/// The cache's response.
struct DoorResponse: Sendable {
    var status: Int
    var fields: WireFields
    var content: String
    var interim: [(status: Int, fields: WireFields)]
}

/// A failed expectation of a step.
struct Finding: Sendable, CustomStringConvertible {
    var step: Int
    var part: ConformanceExpectation.Part
    /// The case could not be tested, so its claim is neither proven nor disproven.
    var isPremise: Bool
    var message: String

    var description: String { "step \(step), \(isPremise ? "premise, " : "")\(part.rawValue): \(message)" }
}

/// Plays one case at a door and returns its findings.
struct CaseRun {
    let entry: ConformanceCase
    let origin: CaseOrigin
    let door: any CaseDoor
    private(set) var responses: [DoorResponse] = []
    private var findings: [Finding] = []

    init(_ entry: ConformanceCase, origin: CaseOrigin, door: any CaseDoor) {
        self.entry = entry
        self.origin = origin
        self.door = door
    }

    /// Plays the steps and returns the failed expectations in their order; empty if the claim
    /// holds.
    mutating func findings() async -> [Finding] {
        for (index, step) in entry.steps.enumerated() {
            let response: DoorResponse
            do {
                response = try await door.send(
                    method: step.request.method,
                    target: step.request.target,
                    fields: requestFields(of: step, number: index + 1),
                    content: step.request.content
                )
            } catch {
                add(index + 1, .passedOn, "There is no whole response: \(error).")
                return findings
            }
            responses.append(response)
            check(response, of: step, number: index + 1)
            if step.origin.inBackground { await door.waitForBackground(step: index + 1) }
            if step.thenSeconds > 0 { await door.advance(seconds: step.thenSeconds) }
        }
        checkRequests()
        return findings
    }

    /// The lines of a request: those of the step, and some without a meaning for caches, as clients
    /// send them.
    private func requestFields(of step: ConformanceStep, number: Int) -> WireFields {
        var fields = WireFields()
        fields.add("Accept", "*/*")
        fields.add("Pragma", "means-nothing")
        fields.add("Cache-Control", "means-nothing")
        // Dates of a request are relative to the time at which the origin generated the previous
        // response.
        let previous = responses.last?.fields.joined(CaseOrigin.timeField).flatMap { Int64($0) }
        let instant = previous.map { Timestamp(milliseconds: $0) } ?? door.now
        for line in step.request.fields { fields.add(line.name, line.value.text(at: instant, path: "")) }
        fields.add(CaseOrigin.stepField, "\(number)")
        return fields
    }

    private mutating func add(_ number: Int, _ part: ConformanceExpectation.Part, _ message: String) {
        let isPremise = entry.steps[number - 1].expect.premise.contains(part)
        findings.append(Finding(step: number, part: part, isPremise: isPremise, message: message))
    }

    private mutating func check(_ response: DoorResponse, of step: ConformanceStep, number: Int) {
        let expect = step.expect
        checkSource(response, expect, number)
        checkStatus(response, step, number)
        let made = response.fields.joined(CaseOrigin.timeField).flatMap { Int64($0) }
        let instant = made.map { Timestamp(milliseconds: $0) } ?? door.now
        for line in expect.fields {
            let value = response.fields.joined(line.name)
            if !line.value.accepts(value, at: instant) {
                add(number, .fields, "\(line.name) is \(value ?? "absent").")
            }
        }
        for line in expect.fieldsAbsent {
            guard let value = response.fields.joined(line.name), line.value.accepts(value, at: instant) else {
                continue
            }
            add(number, .fieldsAbsent, "\(line.name) is present: \(value).")
        }
        if let interim = expect.interim {
            if interim.map(\.status) != response.interim.map(\.status) {
                add(number, .interim, "Interim responses are \(response.interim.map(\.status)).")
            } else {
                for (wanted, received) in zip(interim, response.interim) {
                    for name in wanted.fields ?? [] where received.fields.joined(name) == nil {
                        add(number, .interim, "The \(wanted.status) has no \(name).")
                    }
                }
            }
        }
        checkContent(response, step, number)
    }

    private mutating func checkSource(_ response: DoorResponse, _ expect: ConformanceExpectation, _ number: Int) {
        let count = response.fields.joined(CaseOrigin.countField).flatMap { Int($0) }
        switch expect.from {
        case .store:
            // A 304 out of the store need not carry the fields of the stored response.
            if response.status == 304, count == nil { break }
            if let count, count < number { break }
            add(
                number,
                .from,
                "The response does not come from the store (\(response.status), origin's \(count ?? 0))."
            )
        case .origin where count != number:
            add(number, .from, "The response comes from the store (\(response.status), origin's \(count ?? 0)).")
        case .origin, .validation, nil: break
        }
        let steps = response.fields.joined(CaseOrigin.stepsField)?.split(separator: " ") ?? []
        if steps.count != Set(steps).count {
            add(number, .passedOn, "The origin received the request twice: \(steps).")
        }
        if expect.notFromOrigin, count != nil { add(number, .fieldsAbsent, "A stored response was served.") }
        if let madeFor = expect.madeFor, response.fields.joined(CaseOrigin.stepField) != "\(madeFor)" {
            add(
                number,
                .fields,
                "The response was generated for step \(response.fields.joined(CaseOrigin.stepField) ?? "none")."
            )
        }
    }

    private mutating func checkStatus(_ response: DoorResponse, _ step: ConformanceStep, _ number: Int) {
        if response.status == 999 {
            add(number, .from, "The request had to be conditional.")
            return
        }
        switch step.expect.status {
        case .any: break
        case .code(let code):
            if response.status != code { add(number, .status, "The status is \(response.status), not \(code).") }
        case nil:
            let code = step.origin.status ?? 200
            if response.status != code { add(number, .passedOn, "The status is \(response.status), not \(code).") }
        }
    }

    private mutating func checkContent(_ response: DoorResponse, _ step: ConformanceStep, _ number: Int) {
        switch step.expect.content {
        case .any: break
        case .text(let text):
            if response.content != text {
                add(number, .content, "The content is '\(response.content)', not '\(text)'.")
            }
        case nil:
            guard response.status != 204, response.status != 304, step.request.method != "HEAD" else { break }
            let text = step.origin.content ?? String(CaseOrigin.content)
            if response.content != text {
                add(number, .passedOn, "The content is '\(response.content)', not '\(text)'.")
            }
        }
    }

    /// Compares the origin's requests, in order, with the steps that are not served from the store.
    private mutating func checkRequests() {
        var requests = origin.requests[...]
        for (index, step) in entry.steps.enumerated() where step.expect.from != .store {
            let number = index + 1
            let request = requests.popFirst()
            if step.expect.from == .origin, request?.step != number {
                add(number, .from, "The origin received no request.")
            }
            if let field = step.expect.by, request?.fields.joined(field) == nil {
                add(number, .from, request == nil ? "The origin received no request." : "The request has no \(field).")
            }
            for line in step.expect.requestFields {
                let value = request?.fields.joined(line.name)
                if !line.value.accepts(value, at: door.now) {
                    add(number, .requestFields, "The origin received \(line.name): \(value ?? "absent").")
                }
            }
            for line in step.expect.requestFieldsAbsent {
                guard let value = request?.fields.joined(line.name), line.value.accepts(value, at: door.now) else {
                    continue
                }
                add(number, .requestFields, "The origin received \(line.name): \(value).")
            }
            if let request {
                for name in request.fixed.names where name.lowercased() != "date" {
                    let value = responses[index].fields.joined(name)
                    if value != request.fixed.joined(name) {
                        add(number, .passedOn, "\(name) is '\(value ?? "absent")', not as the origin sent it.")
                    }
                }
            }
            if let method = step.expect.method, request?.method != method {
                add(number, .method, "The origin received \(request?.method ?? "nothing"), not \(method).")
            }
        }
    }
}

extension FieldValue {
    fileprivate func accepts(_ value: String?, at instant: Timestamp) -> Bool {
        guard let value else { return false }
        switch self {
        case .any: return true
        case .above(let bound): return Int64(value).map { $0 > bound } ?? false
        case .text, .date, .target: return value == text(at: instant, path: "")
        }
    }
}
