import Foundation
import HTTPTypes
import Hummingbird

/// The fields of a request's body, sent as a form or as a JSON object, as text.
struct BodyFields {
    /// The maximum size of a body, in bytes: more than any form here needs.
    private static let maximumBytes = 1 << 16

    private enum Scalar: Decodable {
        case text(String)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .text(String(number))
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .other
            }
        }
    }

    private let values: [String: String]

    /// Reads the body according to its `Content-Type`. An empty body has no fields.
    init(_ request: Request) async throws {
        let body = try await request.body.collect(upTo: Self.maximumBytes)
        guard body.readableBytes > 0 else {
            values = [:]
            return
        }
        switch mediaType(request.headers[.contentType]) {
        case "application/json":
            guard let object = try? JSONDecoder().decode([String: Scalar].self, from: Data(body.readableBytesView))
            else { throw OriginHTTPError.badRequest("The body is not a JSON object.") }
            values = object.compactMapValues { if case .text(let text) = $0 { text } else { nil } }
        case "application/x-www-form-urlencoded":
            let query = Query(String(buffer: body))
            values = Dictionary(query.items.map { ($0.name, $0.value) }) { first, _ in first }
        case let other:
            throw OriginHTTPError(
                .unsupportedMediaType,
                code: "unsupported-body",
                message: "A body of type '\(other)' is not supported. Send JSON or a form."
            )
        }
    }

    subscript(name: String) -> String? { values[name] }
}

/// Returns the media type of a `Content-Type` field in lowercase, without its parameters.
func mediaType(_ field: String?) -> String {
    String((field ?? "").prefix { $0 != ";" }).trimmed.lowercased()
}
