import HTTPCacheSemantics
import HTTPTypes

/// A request's parameters and fields that are credentials. They are sent to the origin and shown
/// nowhere else.
///
/// Like `Authorization`, they identify a principal (see ``CredentialPartition``). They appear
/// neither in the key's target nor in a message.
final class RequestSecrets: Sendable {
    let parameters: Set<String>
    let fields: Set<HTTPField.Name>
    private let names: ParameterNames

    /// Creates a request's secrets; `nil` if there are no names.
    init?(parameters: Set<String>, fields: Set<HTTPField.Name>) {
        if parameters.isEmpty, fields.isEmpty { return nil }
        self.parameters = parameters
        self.fields = fields
        names = ParameterNames(Array(parameters))
    }

    /// Returns a target without the parameters.
    func withheld(from target: TargetURI) -> WithheldTarget { target.withholding(names) }

    /// Returns whether a request has any of these parameters or fields.
    ///
    /// - Parameter ignored: fields that do not identify a principal.
    func occur(in request: HTTPRequest, ignoring ignored: Set<HTTPField.Name>) -> Bool {
        if request.headerFields.contains(where: { fields.contains($0.name) && !ignored.contains($0.name) }) {
            return true
        }
        return TargetURI(request: request).map { !withheld(from: $0).pieces.isEmpty } ?? false
    }

    /// The minimum length of a value that is redacted, in bytes. Shorter values occur in many texts
    /// by chance.
    private static let shortestValue = 4

    /// Returns a request's secrets in the forms in which other software may repeat them: as sent,
    /// decoded, and only a field's last word (`Bearer …`).
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
            // Sort the longest first, so that a value that contains another value is replaced
            // first.
            .sorted { $0.utf8.count > $1.utf8.count }
    }

    /// Returns the error. If it is a transport failure, the request's secrets are removed from it.
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
    /// The scheme and authority, for messages.
    var origin: String { "\(scheme ?? "?")://\(authority ?? "?")" }

    /// Returns the target for messages, with secrets redacted.
    func redactedTarget(_ secrets: RequestSecrets?) -> String {
        guard let target = TargetURI(request: self) else { return origin }
        return (secrets?.withheld(from: target).target ?? target).redacted
    }
}
