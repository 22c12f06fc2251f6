import HTTPCacheSemantics
import Synchronization

/// The origin of one case: it responds to each request as its step specifies, and records the
/// requests.
///
/// It does not depend on an engine or a connection: fields in, fields out.
final class CaseOrigin: Sendable {
    /// A recorded request.
    struct ReceivedRequest: Sendable {
        var step: Int
        var method: String
        var fields: WireFields
        /// The lines of its response that must reach the client unchanged.
        var fixed: WireFields
    }

    /// A response of this origin.
    struct Response: Sendable {
        var status: Int
        var fields: WireFields
        var content: String
        var interim: [(status: Int, fields: WireFields)]
        var hangsUp: Bool
    }

    /// Names the step to which a request belongs.
    static let stepField = "Conformance-Step"
    /// The number of requests that the origin had received when it generated a response, including
    /// that one.
    static let countField = "Origin-Request-Count"
    /// The steps of these requests.
    static let stepsField = "Origin-Steps"
    /// When the origin generated the response, in milliseconds.
    static let timeField = "Origin-Time"
    /// The content of a response for which the case specifies none: 36 bytes.
    static let content = "content without any meaning of its own"[...].prefix(36)

    private struct State {
        var requests: [ReceivedRequest] = []
        /// The fields of each step's response, with formatted dates.
        var sentFields: [Int: WireFields] = [:]
    }

    private let entry: ConformanceCase
    private let path: String
    private let state = Mutex(State())

    init(_ entry: ConformanceCase, path: String) {
        self.entry = entry
        self.path = path
    }

    var requests: [ReceivedRequest] { state.withLock { $0.requests } }

    /// Seconds that pass before the response to this request.
    func delay(for fields: WireFields) -> Int {
        step(for: fields)?.origin.afterSeconds ?? 0
    }

    /// Generates the response to a request.
    func respond(method: String, fields: WireFields, at now: Timestamp) -> Response {
        state.withLock { state in
            let number = fields.joined(Self.stepField).flatMap { Int($0) } ?? state.requests.count + 1
            guard entry.steps.indices.contains(number - 1) else {
                return Response(
                    status: 409,
                    fields: WireFields(),
                    content: "No such step.",
                    interim: [],
                    hangsUp: false
                )
            }
            let step = entry.steps[number - 1]
            var status = step.origin.status ?? 200
            if step.expect.from == .validation {
                // 999 marks a request that should have been conditional.
                status =
                    isValidated(by: fields, previous: state.sentFields[number - 1] ?? planned(number - 1)) ? 304 : 999
            }
            var lines = WireFields()
            var fixed = WireFields()
            for line in step.origin.fields {
                let text = line.value.text(at: now, path: path)
                lines.add(line.name, text)
                if line.isFree { fixed.remove(line.name) } else { fixed.add(line.name, text) }
            }
            state.sentFields[number] = lines
            state.requests.append(ReceivedRequest(step: number, method: method, fields: fields, fixed: fixed))
            if lines.joined("Content-Type") == nil { lines.add("Content-Type", "text/plain") }
            if lines.joined("Date") == nil { lines.add("Date", HTTPDate.format(now)) }
            lines.add(Self.countField, "\(state.requests.count)")
            lines.add(Self.stepField, "\(number)")
            lines.add(Self.stepsField, state.requests.map { "\($0.step)" }.joined(separator: " "))
            lines.add(Self.timeField, "\(now.milliseconds)")
            let hasContent = status != 204 && status != 304
            return Response(
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

    /// The fields of a step that is served from the store, as far as they do not depend on the
    /// time.
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
    /// The value as it is sent. Values that are only expected have none.
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
