import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import Hummingbird
import NIOCore

extension ControlResponder {
    /// The operations that show the current state and the history.
    static let overview: [Operation] = [
        Operation(path: "/v1/overview", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try Self.response(.ok, await responder.overview())
        },
        Operation(path: "/v1/history", method: .get, scope: .read) { try $0.history($1, $2) },
        Operation(path: "/v1/outages", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try Self.response(.ok, responder.recorder.outages())
        },
        Operation(path: "/v1/events", method: .get, scope: .read) { try $0.events($1, $2) },
    ]

    /// Returns the gateway's state at a glance.
    func overview() async -> OverviewReport {
        let condition = await operations.storeCondition()
        let reading = await store.readingForPage()
        let past = await recorder.past()
        let outage = OutageReport(past.outages)
        let status = StatusReport(
            about,
            operations,
            phase(),
            listening(),
            condition,
            reading?.statistics,
            await operations.sharing?.fleet(),
            outage: outage,
            at: past.reading.at
        )
        return OverviewReport(status, operations.reportedOrigins, condition, reading, past, page.control)
    }

    /// Handles `GET /v1/history`.
    private func history(_ request: Request, _: ControlContext) throws -> Response {
        var members = try QueryMembers(request)
        let text = members.text("window") ?? TrafficHistory.Window.hour.rawValue
        try members.end(known: ["window"])
        guard let window = TrafficHistory.Window(rawValue: text) else {
            throw ControlProblem(
                .invalidRequest,
                "'window' must be 'hour' or 'day', not '\(ControlProblem.shown(text))'.",
                field: "window",
                value: text
            )
        }
        return try Self.response(.ok, recorder.curves(window))
    }

    /// Handles `GET /v1/events`.
    private func events(_ request: Request, _ context: ControlContext) throws -> Response {
        try QueryMembers.none(in: request)
        let permit = try streams.take(for: context.client.name)
        let (responder, head) = (self, request.head)
        let events = streams.events(
            in: permit,
            while: { responder.admission(of: head) },
            of: { try Self.encoder.encode(await responder.overview()) }
        )
        var response = Self.response(.ok, "text/event-stream", Data(), ending: "")
        response.headers[.contentLength] = nil
        response.body = ResponseBody(asyncSequence: events)
        return response
    }

    private func admission(of head: HTTPRequest) -> EventStreams.Admission {
        if phase() == .ending { return .ending }
        return entryPoint.stillAdmits(head) ? .goOn : .sessionOver
    }
}
