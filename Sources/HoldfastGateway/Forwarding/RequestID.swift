import HTTPCacheSemantics
import HTTPTypes

/// The ID of one request, for finding the request in the logs of the client, this gateway and the
/// origin.
enum RequestID {
    /// The maximum length of an ID from a client, in bytes.
    static let limit = 128

    /// Returns a new ID: 128 random bits as hexadecimal digits. No client can guess another
    /// client's ID.
    static func make() -> String { hexadecimal(.random(in: .min ... .max)) + hexadecimal(.random(in: .min ... .max)) }

    private static func hexadecimal(_ bits: UInt64) -> String {
        let digits = String(bits, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the ID that a request contains; `nil` if it contains none, several, or one that
    /// could corrupt a log.
    static func given(in fields: HTTPFields) -> String? {
        let values = fields[values: .xRequestID]
        guard values.count == 1, let value = values.first, (1...limit).contains(value.utf8.count),
            value.utf8.allSatisfy(\.isNameByte)
        else { return nil }
        return value
    }
}

extension ConfigurationInForce {
    /// Returns the ID of a client's request: a valid ID from a trusted client, otherwise a new one.
    /// Returns `nil` if requests have no IDs.
    ///
    /// - Parameter request: `nil` for bytes that are not a valid request.
    func requestID(of request: GatewayRequest?, from client: GatewayClient?) -> String? {
        guard configuration.identifiesRequests else { return nil }
        if let request, client?.isTrusted(by: configuration) == true, let given = RequestID.given(in: request.fields) {
            return given
        }
        return RequestID.make()
    }
}
