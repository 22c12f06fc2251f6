import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Hummingbird
import Logging

extension ControlResponder {
    /// The operations on recordings of jobs.
    static let recordings: [Operation] = [
        Operation(path: "/v1/recordings", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try await responder.recordingsReport()
        },
        Operation(path: "/v1/recordings", method: .post, scope: .operate) { try await $0.beginRecording($1, $2) },
        Operation(path: "/v1/recordings/{id}", method: .delete, scope: .operate) {
            try await $0.endRecording($1, $2)
        },
    ]

    /// Handles `GET /v1/recordings`.
    private func recordingsReport() async throws -> Response {
        let recordings = try await recordingOperations().recordings
        return try Self.response(.ok, RecordingsReport(recordings))
    }

    /// Handles `POST /v1/recordings`.
    private func beginRecording(_ request: Request, _ context: ControlContext) async throws -> Response {
        let asked = try RecordingRequest(json: try await Self.content(of: request))
        let plan = try asked.plan(at: clock.now(), by: context.client.name)
        try checkPlace(of: asked)
        do {
            let state = try await recordingOperations().begin(plan)
            return try Self.response(.ok, RecordingReport(state))
        } catch let refusal as RecordingRefusal {
            throw ControlProblem(refusal)
        } catch let problem as ControlProblem {
            throw problem
        } catch {
            logger.error(
                "Recording did not begin",
                metadata: ["recording.name": "\(plan.name)", "error": "\(error)"]
            )
            throw ControlProblem(.storeFailed, "The recording did not begin: \(error)")
        }
    }

    /// Checks that the gateway is the one that the client means: it records with its own routes.
    private func checkPlace(of asked: RecordingRequest) throws(ControlProblem) {
        if let file = asked.file {
            let own = operations.configurationStatus.file.map(Self.resolved)
            guard own == Self.resolved(file) else {
                let other = own.map { "with '\($0)'" } ?? "without a file"
                throw ControlProblem(
                    .invalidRequest,
                    "'file' is '\(ControlProblem.shown(file))', but the gateway that has the store runs \(other). Nothing was recorded. "
                        + "Name that file, or use another store.",
                    field: "file",
                    value: file
                )
            }
        }
        guard let origin = asked.origin else { return }
        let name = (try? TargetURI(origin)).map { "\($0.scheme)://\($0.authority)" } ?? origin
        guard !operations.routedOrigins.contains(name) else { return }
        throw ControlProblem(
            .invalidRequest,
            "'origin' is '\(ControlProblem.shown(origin))', but the gateway that has the store has no route there. Nothing was recorded. "
                + "Name an origin of the gateway, or use another store.",
            field: "origin",
            value: ControlProblem.shown(origin)
        )
    }

    /// Handles `DELETE /v1/recordings/{id}`.
    private func endRecording(_ request: Request, _ context: ControlContext) async throws -> Response {
        var members = try QueryMembers(request)
        let keeps: Bool
        switch members.text("keep") {
        case nil, "true": keeps = true
        case "false": keeps = false
        case let text?:
            throw ControlProblem(
                .invalidRequest,
                "'keep' must be true or false, not '\(ControlProblem.shown(text))'.",
                field: "keep",
                value: text
            )
        }
        try members.end(known: ["keep"])
        let segment = request.uri.path.split(separator: "/").last.map(String.init) ?? ""
        let name = try RecordingRequest.jobName(segment)
        let operations = try recordingOperations()
        guard let state = await operations.end(name, keeps: keeps, by: context.client.name) else {
            let known = await operations.recordings
            throw ControlProblem(
                .notFound,
                "No recording '\(name)' is running. \(Self.end(of: name, in: known))",
                field: "path",
                value: "\(name)"
            )
        }
        return try Self.response(.ok, RecordingReport(state))
    }

    /// Says what became of a recording.
    private static func end(of name: JobName, in states: [RecordingState]) -> String {
        guard let end = states.first(where: { $0.name == name })?.end else {
            return "'GET /v1/recordings' lists the recordings."
        }
        let outcome = end.isKept ? "its job was kept" : "its job was not kept"
        return "It ended at \(EndTime.text(end.at)) ('\(end.ending.word)'), and \(outcome)."
    }

    private func recordingOperations() throws(ControlProblem) -> any RecordingOperations {
        if let recordings = operations.recordings { return recordings }
        throw ControlProblem(.notFound, "This gateway records no jobs.", field: "path")
    }
}

extension ControlProblem {
    /// Creates the problem for a recording that does not begin.
    init(_ refusal: RecordingRefusal) {
        switch refusal {
        case .tooMany(let limit):
            self.init(
                .tooManyRecordings,
                "\(limit) recordings are running, which is the limit. End one of them ('DELETE /v1/recordings/NAME'), or wait.",
                limit: limit
            )
        case .running(let name):
            self.init(
                .recordingExists,
                "A recording '\(name)' is running. End it ('DELETE /v1/recordings/\(name)'), or use another name.",
                field: "name",
                value: "\(name)"
            )
        case .exists(let name):
            self.init(
                .recordingExists,
                "The job '\(name)' exists. Use another name, or set 'replace' to true.",
                field: "name",
                value: "\(name)"
            )
        case .mode(let mode):
            self.init(
                .modeForbidsRecording,
                "The mode is '\(mode.rawValue)', which forbids requests to origins. Switch the mode ('PUT /v1/mode') first.",
                value: mode.rawValue
            )
        case .ending: self = .ended
        }
    }
}
