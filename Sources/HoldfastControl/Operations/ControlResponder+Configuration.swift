import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import Hummingbird
import NIOCore

extension ControlResponder {
    /// The operations on the configuration.
    static let configuration: [Operation] = [
        Operation(path: "/v1/configuration", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try Self.response(.ok, Report(value: responder.operations.configuration))
        },
        Operation(path: "/v1/reload", method: .post, scope: .operate) { try await $0.reload($1, $2) },
        // An explanation reveals whether a URL with its query is stored, so clients that must not
        // see queries cannot use this operation.
        Operation(path: "/v1/explain", method: .get, scope: .operate) { responder, request, _ in
            try await responder.explain(request)
        },
    ]

    /// A report whose type belongs to another module.
    private struct Report: Encodable {
        let value: any Encodable & Sendable

        func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    /// Handles `POST /v1/reload`.
    private func reload(_ request: Request, _ context: ControlContext) async throws -> Response {
        // Even without content, the required content type rejects HTML forms.
        let content = try await Self.content(of: request)
        if !content.isEmpty {
            var members = try JSONMembers(json: content, example: "{}")
            let file = try members.text("file")
            try members.end(known: ["file"])
            if let file { try checkFile(file) }
        }
        let report = await operations.reload(by: context.client.name)
        switch report.outcome {
        case .reloaded: return try Self.response(.ok, ReloadResult(report))
        case .noFile:
            throw ControlProblem(
                .noFile,
                "The gateway was started without a configuration file. Start it with '--config'."
            )
        case .rejected: throw Self.rejection(report)
        }
    }

    /// Checks that the gateway was started with a file.
    ///
    /// - Throws: ``ControlProblem`` if it was started with another one.
    private func checkFile(_ path: String) throws(ControlProblem) {
        guard let own = operations.configurationStatus.file, Self.resolved(own) != Self.resolved(path) else { return }
        throw ControlProblem(
            .invalidRequest,
            "'file' is '\(ControlProblem.shown(path))', but the gateway runs with '\(Self.resolved(own))'. Nothing was reloaded. "
                + "Edit and name that file, or restart the gateway with the other one.",
            field: "file",
            value: path
        )
    }

    /// Returns an absolute path without links.
    static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    /// Handles `GET /v1/explain`.
    private func explain(_ request: Request) async throws -> Response {
        var members = try QueryMembers(request, repeatable: ["field"])
        let (text, client) = (members.text("url"), members.text("client"))
        try members.end(known: ["client", "field", "url"])
        guard client.map(Self.isAddress) != false else {
            throw ControlProblem(
                .invalidRequest,
                "'client' must be an IP address such as 192.0.2.7, or 'unix', not '\(ControlProblem.shown(client ?? ""))'.",
                field: "client"
            )
        }
        let fields = try Self.fields(members.texts("field"))
        guard let text else {
            throw ControlProblem(
                .invalidRequest,
                "'url' is missing. Add the origin's URL, or one that a client requests from the gateway, percent-encoded: ?url=http%3A%2F%2Fa.example%2F.",
                field: "url"
            )
        }
        let target: TargetURI
        do {
            target = try TargetURI.readings(of: text)[0]
        } catch {
            let value = Redaction.uriText(text, limit: 200)
            throw ControlProblem(
                .invalidRequest,
                "'url': \(error)",
                field: "url",
                value: value
            )
        }
        let value = try await reading { try await operations.explain(target, fields, for: client) }
        return try Self.response(.ok, Report(value: value))
    }

    /// Whether a text names a gateway's client: an IP address, or `unix`.
    private static func isAddress(_ text: String) -> Bool {
        text == "unix" || (try? SocketAddress(ipAddress: text, port: 0)) != nil
    }

    /// The maximum number of request fields in an explanation.
    private static let fieldLimit = 32

    /// Parses fields such as `accept-language: de`.
    private static func fields(_ texts: [String]) throws(ControlProblem) -> HTTPFields {
        var fields = HTTPFields()
        for text in texts {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])),
                HTTPField.isValidValue(String(value)), fields.count < fieldLimit
            else {
                throw ControlProblem(
                    .invalidRequest,
                    "'field' must be a name and a value, such as 'accept-language: de', not '\(ControlProblem.shown(text))'. The limit is \(fieldLimit) fields.",
                    field: "field",
                    limit: fieldLimit
                )
            }
            fields.append(HTTPField(name: name, value: String(value)))
        }
        return fields
    }

    /// The maximum number of errors that the problem's detail lists.
    private static let namedFindings = 10

    private static func rejection(_ report: ReloadReport) -> ControlProblem {
        let number = report.findings.count
        let named = report.findings.prefix(namedFindings).map(\.message).joined(separator: "\n")
        var problem = ControlProblem(
            .configurationRejected,
            "The file has \(number == 1 ? "an error" : "\(number) errors"). Nothing changed.\n\(named)",
            field: report.findings.first?.setting
        )
        problem.findings = ReloadResult(report).findings
        return problem
    }
}
