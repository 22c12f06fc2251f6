import HTTPCache
import HTTPCacheOperations
import Hummingbird
import Logging

extension ControlResponder {
    /// The operations on pins.
    static let pins: [Operation] = [
        Operation(path: "/v1/pins", method: .get, scope: .read) { try await $0.pins($1, $2) },
        Operation(path: "/v1/pins", method: .post, scope: .operate) { try await $0.setPins($1, $2) },
    ]

    /// Handles `GET /v1/pins`.
    private func pins(_ request: Request, _ context: ControlContext) async throws -> Response {
        var members = try QueryMembers(request)
        var query = try Self.query(&members, by: context.client)
        query.isPinned = true
        try members.end(known: ["after", "limit", "prefix", "tag"])
        let selection = query
        let report = try await reading {
            PinsReport(pins: try await operations.pinUse(), ResponsesReport(try await operations.responses(selection)))
        }
        return try Self.response(.ok, report)
    }

    /// Handles `POST /v1/pins`.
    private func setPins(_ request: Request, _ context: ControlContext) async throws -> Response {
        let content = try await Self.content(of: request, upTo: PurgeRequest.maximumBytes)
        let change = try PinRequest(json: content).resolved(by: operations)
        let result: PinResult
        do {
            result = try await operations.perform(change)
        } catch let problem as ControlProblem {
            throw problem
        } catch {
            logger.error("Pinning failed", metadata: ["control.client": "\(context.client.name)", "error": "\(error)"])
            throw ControlProblem(
                .storeFailed,
                "The change was not completed, but part of it may be in force: \(error) Then repeat the change; repeating it does no harm."
            )
        }
        if !change.dryRun {
            var metadata: Logger.Metadata = [
                "control.client": "\(context.client.name)", "pin.selectors": "\(change.select.count)",
                "pin.responses": "\(result.changed)", "pin.bytes": "\(result.pins.bytes)",
            ]
            metadata["pin.reason"] = change.reason.map { "\($0)" }
            logger.notice(change.pinned ? "Pinned" : "Unpinned", metadata: metadata)
        }
        return try Self.response(.ok, result)
    }
}

/// A page of pinned responses, and the space that all pinned responses use.
struct PinsReport: Encodable {
    var pins: PinUse
    var responses: [ResponseReport]
    var next: ResponsesReport.Cursor?

    init(pins: PinUse, _ page: ResponsesReport) {
        self.pins = pins
        responses = page.responses
        next = page.next
    }
}
