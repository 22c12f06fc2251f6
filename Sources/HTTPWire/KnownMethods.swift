package import HTTPTypes

/// The methods that metrics name. Clients can invent any number of names, so all others count as
/// one.
package enum KnownMethods {
    package static let names = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "_OTHER",
    ]

    /// Returns the index of a method in ``names``; the last index for all other methods.
    package static func number(of method: HTTPRequest.Method?) -> Int {
        if method == .get { return 0 }
        return method.flatMap { names.firstIndex(of: $0.rawValue) } ?? names.count - 1
    }
}

extension HTTPRequest.Method {
    /// The method's name if it is a known method; otherwise `nil`, because clients can invent any
    /// number of names.
    package var traced: String? {
        switch rawValue {
        case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PURGE": rawValue
        default: nil
        }
    }
}
