import HTTPCacheSemantics
import HTTPTypes

/// A request's parameters and fields that are credentials. They are sent to the origin and shown
/// nowhere else.
///
/// They identify a principal as `Authorization` does (see ``CredentialPartition``), and are neither
/// in the key's target nor in a message.
final class RequestSecrets: Sendable {
    let parameters: Set<String>
    let fields: Set<HTTPField.Name>
    private let names: ParameterNames

    /// `nil` if there are none.
    init?(parameters: Set<String>, fields: Set<HTTPField.Name>) {
        if parameters.isEmpty, fields.isEmpty { return nil }
        self.parameters = parameters
        self.fields = fields
        names = ParameterNames(Array(parameters))
    }

    /// A target without the parameters.
    func withheld(from target: TargetURI) -> WithheldTarget { target.withholding(names) }

    /// Whether a request has any of them.
    ///
    /// - Parameter ignored: fields that do not identify a principal.
    func occur(in request: HTTPRequest, ignoring ignored: Set<HTTPField.Name>) -> Bool {
        if request.headerFields.contains(where: { fields.contains($0.name) && !ignored.contains($0.name) }) {
            return true
        }
        return TargetURI(request: request).map { !withheld(from: $0).pieces.isEmpty } ?? false
    }

    /// Shorter values occur in many texts by chance.
    private static let shortestValue = 4

    /// A request's secrets as they may appear in texts written by others: as sent, decoded, and a
    /// field's last word (`Bearer …`).
    func values(in request: HTTPRequest) -> [String] {
        var values: [String] = []
        for field in request.headerFields where fields.contains(field.name) {
            values.append(field.value)
            if let word = field.value.split(separator: " ").last { values.append(String(word)) }
        }
        if let target = TargetURI(request: request) {
            values += withheld(from: target).values.map { String(decoding: $0, as: UTF8.self) }
        }
        var seen: Set<String> = []
        return values.filter { $0.utf8.count >= Self.shortestValue && seen.insert($0).inserted }
            // Longest first, so that a value that contains another is found before it.
            .sorted { $0.utf8.count > $1.utf8.count }
    }

    /// A transport failure whose message contains no secret of the request.
    func redacted(_ error: any Error, of request: HTTPRequest) -> any Error {
        guard var failure = error as? TransportError else { return error }
        let values = values(in: request)
        for value in values { failure.message = failure.message.replacing(value, with: Redaction.placeholder) }
        if let cause = failure.cause {
            let text = String(reflecting: cause)
            if values.contains(where: text.contains) { failure.cause = nil }
        }
        return failure
    }
}

extension CacheRequest {
    /// The target for messages, without secrets.
    var redactedTarget: String { head.redactedTarget(secrets) }
}

extension HTTPRequest {
    /// The target for messages, with secrets redacted.
    func redactedTarget(_ secrets: RequestSecrets?) -> String {
        guard let target = TargetURI(request: self) else { return origin }
        return (secrets?.withheld(from: target).target ?? target).redacted
    }
}
