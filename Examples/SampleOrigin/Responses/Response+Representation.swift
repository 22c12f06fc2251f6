import Crypto
import Foundation
import HTTPTypes
import Hummingbird

extension HTTPField.Name {
    /// The number of the response's request, counted since the origin's startup.
    static let originRequest = parsed("X-Origin-Request")

    /// Returns a field name that is known to be valid.
    static func parsed(_ name: StaticString) -> HTTPField.Name {
        guard let parsed = HTTPField.Name("\(name)") else {
            preconditionFailure("'\(name)' is written in this module and is a field name")
        }
        return parsed
    }
}

extension Response {
    /// Returns a JSON response with sorted keys, so that the same value has the same bytes and the
    /// same ETag in every process.
    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        bytes(try jsonBytes(value), contentType: "application/json", status: status)
    }

    /// Returns a response with the given body, without validators.
    static func bytes(_ body: [UInt8], contentType: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        )
    }

    /// Returns a response with the given body and a strong validator that is computed from it.
    static func representation(_ body: [UInt8], contentType: String, cacheControl: String?) -> Response {
        var response = bytes(body, contentType: contentType)
        response.headers[.eTag] = entityTag(of: body)
        response.headers[.cacheControl] = cacheControl
        return response
    }

    /// Returns a JSON response with a strong validator that is computed from its bytes.
    static func representation(json value: some Encodable, cacheControl: String?) throws -> Response {
        representation(try jsonBytes(value), contentType: "application/json", cacheControl: cacheControl)
    }

    /// Returns an error response with a JSON body that says that the failure was requested.
    static func failure(status code: Int) throws -> Response {
        let body = ErrorBody(code: "asked-to-fail", message: "This origin was asked to respond with status \(code).")
        return try json(body, status: HTTPResponse.Status(code: code))
    }

    /// Returns a response without content if its status allows none; `nil` for other statuses. A
    /// 204 and a 304 end with their head, and a 205 has no content (RFC 9110 §15.3.5, §15.3.6,
    /// §15.4.5).
    static func withoutContent(status: HTTPResponse.Status) -> Response? {
        switch status.code {
        case 204, 304: Response(status: status).withoutLength
        case 205: Response(status: status)
        default: nil
        }
    }

    /// The response without the `Content-Length` that the framework sets, for statuses that may
    /// have none.
    var withoutLength: Response {
        var response = self
        response.headers[.contentLength] = nil
        return response
    }

    private static func jsonBytes(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}

/// Returns a strong entity tag for the content: half of its SHA-256, which is more than enough to
/// distinguish versions.
func entityTag(of content: [UInt8]) -> String {
    "\"" + hexadecimal(SHA256.hash(data: content).prefix(16)) + "\""
}

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef")
    return bytes.reduce(into: "") { text, byte in
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
}
