import HTTPCacheSemantics

/// The way into the cache under test.
protocol CaseDoor: Sendable {
    /// Where the clock of cache and origin stands.
    var now: Timestamp { get }
    /// Moves it.
    func advance(seconds: Int) async
    /// Sends a request to the cache, and reads the whole answer.
    func send(method: String, target: String, fields: WireFields, content: String?) async throws -> DoorResponse
    /// Returns when the origin has been asked for this step, and the cache is done with its answer.
    func backgroundEnded(step: Int) async
}

/// What the cache answered.
struct DoorResponse: Sendable {
    var status: Int
    var fields: WireFields
    var content: String
    var interim: [(status: Int, fields: WireFields)]
}

/// What is wrong with a step.
struct Finding: Sendable, CustomStringConvertible {
    var step: Int
    var part: ConformanceExpectation.Part
    /// The case could not be tried, which says nothing about its claim.
    var isPremise: Bool
    var message: String

    var description: String { "step \(step), \(isPremise ? "premise, " : "")\(part.rawValue): \(message)" }
}

/// Plays one case at a door and answers with what is wrong.
struct CaseRun {
    let entry: ConformanceCase
    let origin: CaseOrigin
    let door: any CaseDoor
    private var answers: [DoorResponse] = []
    private var findings: [Finding] = []

    init(_ entry: ConformanceCase, origin: CaseOrigin, door: any CaseDoor) {
        self.entry = entry
        self.origin = origin
        self.door = door
    }

    /// What is wrong, in the order of steps; empty where the claim holds.
    mutating func findings() async -> [Finding] {
        for (index, step) in entry.steps.enumerated() {
            let answer: DoorResponse
            do {
                answer = try await door.send(
                    method: step.request.method,
                    target: step.request.target,
                    fields: requestFields(of: step, number: index + 1),
                    content: step.request.content
                )
            } catch {
                add(index + 1, .passedOn, "There is no whole answer: \(error).")
                return findings
            }
            answers.append(answer)
            check(answer, of: step, number: index + 1)
            if step.origin.inBackground { await door.backgroundEnded(step: index + 1) }
            if step.thenSeconds > 0 { await door.advance(seconds: step.thenSeconds) }
        }
        checkRequests()
        return findings
    }

    /// The lines of a request: ones that mean nothing to a cache, as clients send them, and those
    /// of the step.
    private func requestFields(of step: ConformanceStep, number: Int) -> WireFields {
        var fields = WireFields()
        fields.add("Accept", "*/*")
        fields.add("Pragma", "means-nothing")
        fields.add("Cache-Control", "means-nothing")
        // Dates of a request count from the moment at which the origin generated the answer before.
        let previous = answers.last?.fields.joined(CaseOrigin.timeField).flatMap { Int64($0) }
        let instant = previous.map { Timestamp(milliseconds: $0) } ?? door.now
        for line in step.request.fields { fields.add(line.name, line.value.text(at: instant, path: "")) }
        fields.add(CaseOrigin.stepField, "\(number)")
        return fields
    }

    private mutating func add(_ number: Int, _ part: ConformanceExpectation.Part, _ message: String) {
        let isPremise = entry.steps[number - 1].expect.premise.contains(part)
        findings.append(Finding(step: number, part: part, isPremise: isPremise, message: message))
    }

    private mutating func check(_ answer: DoorResponse, of step: ConformanceStep, number: Int) {
        let expect = step.expect
        checkSource(answer, expect, number)
        checkStatus(answer, step, number)
        let made = answer.fields.joined(CaseOrigin.timeField).flatMap { Int64($0) }
        let instant = made.map { Timestamp(milliseconds: $0) } ?? door.now
        for line in expect.fields {
            let value = answer.fields.joined(line.name)
            if !line.value.accepts(value, at: instant) {
                add(number, .fields, "\(line.name) is \(value ?? "absent").")
            }
        }
        for line in expect.fieldsAbsent {
            guard let value = answer.fields.joined(line.name), line.value.accepts(value, at: instant) else { continue }
            add(number, .fieldsAbsent, "\(line.name) is there: \(value).")
        }
        if let interim = expect.interim {
            if interim.map(\.status) != answer.interim.map(\.status) {
                add(number, .interim, "Interim responses are \(answer.interim.map(\.status)).")
            } else {
                for (wanted, received) in zip(interim, answer.interim) {
                    for name in wanted.fields ?? [] where received.fields.joined(name) == nil {
                        add(number, .interim, "The \(wanted.status) has no \(name).")
                    }
                }
            }
        }
        checkContent(answer, step, number)
    }

    private mutating func checkSource(_ answer: DoorResponse, _ expect: ConformanceExpectation, _ number: Int) {
        let count = answer.fields.joined(CaseOrigin.countField).flatMap { Int($0) }
        switch expect.from {
        case .store:
            // A 304 out of the store need not carry the fields of the stored response.
            if answer.status == 304, count == nil { break }
            if let count, count < number { break }
            add(number, .from, "The answer does not come from the store (\(answer.status), origin's \(count ?? 0)).")
        case .origin where count != number:
            add(number, .from, "The answer comes from the store (\(answer.status), origin's \(count ?? 0)).")
        case .origin, .validation, nil: break
        }
        let steps = answer.fields.joined(CaseOrigin.stepsField)?.split(separator: " ") ?? []
        if steps.count != Set(steps).count { add(number, .passedOn, "The origin was asked twice: \(steps).") }
        if expect.notFromOrigin, count != nil { add(number, .fieldsAbsent, "A stored response answered.") }
        if let madeFor = expect.madeFor, answer.fields.joined(CaseOrigin.stepField) != "\(madeFor)" {
            add(
                number,
                .fields,
                "The answer was generated for step \(answer.fields.joined(CaseOrigin.stepField) ?? "none")."
            )
        }
    }

    private mutating func checkStatus(_ answer: DoorResponse, _ step: ConformanceStep, _ number: Int) {
        if answer.status == 999 {
            add(number, .from, "The request had to be conditional.")
            return
        }
        switch step.expect.status {
        case .any: break
        case .code(let code):
            if answer.status != code { add(number, .status, "The status is \(answer.status), not \(code).") }
        case nil:
            let code = step.origin.status ?? 200
            if answer.status != code { add(number, .passedOn, "The status is \(answer.status), not \(code).") }
        }
    }

    private mutating func checkContent(_ answer: DoorResponse, _ step: ConformanceStep, _ number: Int) {
        switch step.expect.content {
        case .any: break
        case .text(let text):
            if answer.content != text { add(number, .content, "The content is '\(answer.content)', not '\(text)'.") }
        case nil:
            guard answer.status != 204, answer.status != 304, step.request.method != "HEAD" else { break }
            let text = step.origin.content ?? String(CaseOrigin.content)
            if answer.content != text { add(number, .passedOn, "The content is '\(answer.content)', not '\(text)'.") }
        }
    }

    /// What the origin was asked, matched in order with the steps that are not answered from the
    /// store.
    private mutating func checkRequests() {
        var asked = origin.asked[...]
        for (index, step) in entry.steps.enumerated() where step.expect.from != .store {
            let number = index + 1
            let request = asked.popFirst()
            if step.expect.from == .origin, request?.step != number {
                add(number, .from, "The origin was not asked.")
            }
            if let field = step.expect.by, request?.fields.joined(field) == nil {
                add(number, .from, request == nil ? "The origin was not asked." : "The request has no \(field).")
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
                    let value = answers[index].fields.joined(name)
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
