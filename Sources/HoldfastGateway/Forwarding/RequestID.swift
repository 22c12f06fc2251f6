import HTTPCacheSemantics
import HTTPTypes
import HTTPWire

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
