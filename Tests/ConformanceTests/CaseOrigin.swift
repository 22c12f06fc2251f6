import HTTPCacheSemantics
import Synchronization

/// The origin of one case: it answers each request as the step that the request belongs to says,
/// and remembers what it was asked.
///
/// It knows nothing of engine or connection: fields in, fields out.
final class CaseOrigin: Sendable {
    /// What it was asked.
    struct Asked: Sendable {
        var step: Int
        var method: String
        var fields: WireFields
        /// The lines of its answer that must reach the client as they are.
        var fixed: WireFields
    }

    /// What it answers.
    struct Answer: Sendable {
        var status: Int
        var fields: WireFields
        var content: String
        var interim: [(status: Int, fields: WireFields)]
        var hangsUp: Bool
    }

    /// Names the step to which a request belongs.
    static let stepField = "Conformance-Step"
    /// How many requests the origin had seen when it generated an answer, that one included.
    static let countField = "Origin-Request-Count"
    /// The steps they belonged to.
    static let stepsField = "Origin-Steps"
    /// When the origin generated the answer, in milliseconds.
    static let timeField = "Origin-Time"
    /// The content of an answer for which the case states none: 36 bytes.
    static let content = "content without any meaning of its own"[...].prefix(36)

    private struct State {
        var asked: [Asked] = []
        /// What each step's answer carried, dates written out.
        var answered: [Int: WireFields] = [:]
    }

    private let entry: ConformanceCase
    private let path: String
    private let state = Mutex(State())

    init(_ entry: ConformanceCase, path: String) {
        self.entry = entry
        self.path = path
    }

    var asked: [Asked] { state.withLock { $0.asked } }

    /// Seconds that pass before the answer to this request.
    func delay(for fields: WireFields) -> Int {
        step(for: fields)?.origin.afterSeconds ?? 0
    }

    /// The answer to a request, generated now.
    func answer(method: String, fields: WireFields, at now: Timestamp) -> Answer {
        state.withLock { state in
            let number = fields.joined(Self.stepField).flatMap { Int($0) } ?? state.asked.count + 1
            guard entry.steps.indices.contains(number - 1) else {
                return Answer(status: 409, fields: WireFields(), content: "No such step.", interim: [], hangsUp: false)
            }
            let step = entry.steps[number - 1]
            var status = step.origin.status ?? 200
            if step.expect.from == .validation {
                // 999 says to whoever looks at the answer that this request had to be conditional.
                status =
                    isValidated(by: fields, previous: state.answered[number - 1] ?? planned(number - 1)) ? 304 : 999
            }
            var lines = WireFields()
            var fixed = WireFields()
            for line in step.origin.fields {
                let text = line.value.text(at: now, path: path)
                lines.add(line.name, text)
                if line.isFree { fixed.remove(line.name) } else { fixed.add(line.name, text) }
            }
            state.answered[number] = lines
            state.asked.append(Asked(step: number, method: method, fields: fields, fixed: fixed))
            if lines.joined("Content-Type") == nil { lines.add("Content-Type", "text/plain") }
            if lines.joined("Date") == nil { lines.add("Date", HTTPDate.format(now)) }
            lines.add(Self.countField, "\(state.asked.count)")
            lines.add(Self.stepField, "\(number)")
            lines.add(Self.stepsField, state.asked.map { "\($0.step)" }.joined(separator: " "))
            lines.add(Self.timeField, "\(now.milliseconds)")
            let hasContent = status != 204 && status != 304
            return Answer(
                status: status,
                fields: lines,
                content: hasContent ? step.origin.content ?? String(Self.content) : "",
                interim: step.origin.interim.map { interim in
                    var fields = WireFields()
                    for line in interim.fields ?? [] { fields.add(line.name, line.value.text(at: now, path: path)) }
                    return (interim.status, fields)
                },
                hangsUp: step.origin.hangsUp
            )
        }
    }

    private func step(for fields: WireFields) -> ConformanceStep? {
        guard let number = fields.joined(Self.stepField).flatMap({ Int($0) }), entry.steps.indices.contains(number - 1)
        else { return nil }
        return entry.steps[number - 1]
    }

    /// What a step that came out of the store would have carried, as far as it does not depend on
    /// the time.
    private func planned(_ number: Int) -> WireFields? {
        guard entry.steps.indices.contains(number - 1) else { return nil }
        var lines = WireFields()
        for line in entry.steps[number - 1].origin.fields {
            if case .text(let text) = line.value { lines.add(line.name, text) }
        }
        return lines
    }

    private func isValidated(by fields: WireFields, previous: WireFields?) -> Bool {
        if let date = previous?.joined("Last-Modified"), fields.joined("If-Modified-Since") == date { return true }
        if let tag = previous?.joined("ETag"), fields.joined("If-None-Match") == tag { return true }
        return false
    }
}

extension FieldValue {
    /// The value as it is sent. What is only ever expected has none.
    func text(at now: Timestamp, path: String) -> String {
        switch self {
        case .text(let text): text
        case .target(let suffix): path + suffix
        case .date(let seconds, isRFC850: false): HTTPDate.format(now.adding(.seconds(seconds)))
        case .date(let seconds, isRFC850: true): Self.rfc850(now.adding(.seconds(seconds)))
        case .any, .above: ""
        }
    }

    private static func rfc850(_ instant: Timestamp) -> String {
        let parts = HTTPDate.format(instant).split(separator: " ")
        let days = ["Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun"]
        let day = days.first { $0.hasPrefix(parts[0].dropLast()) } ?? ""
        return "\(day)day, \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
    }
}
