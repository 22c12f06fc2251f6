package import HTTPCacheSemantics
package import HTTPTypes

/// How much content a response has, in any protocol. RFC 9110 §6.4.1
package struct ResponseContent {
    /// Whether content is written.
    package let isWritten: Bool
    /// Whether the response's own `Content-Length` is forwarded. In a response without content, it
    /// states the length that a GET would have. RFC 9110 §8.6
    package let passesLength: Bool
    /// The number of bytes still to be written; `nil` if the length is unknown.
    package private(set) var rest: StatedLength?

    /// - Parameters:
    ///   - code: the response's status.
    ///   - method: the request's method; `nil` if no request could be read.
    ///   - length: the length of the content, if it is known.
    package init(_ code: Int, to method: HTTPRequest.Method?, length: StatedLength?) {
        passesLength = method == .head || code == 304
        isWritten = !passesLength && code != 204
        rest = isWritten ? length : 0
    }

    /// Counts a piece of the content.
    ///
    /// - Returns: whether the piece is written.
    /// - Throws: ``Overrun`` if the content is longer than announced.
    package mutating func take(_ count: Int) throws(Overrun) -> Bool {
        guard isWritten else { return false }
        if let rest {
            guard let left = rest.subtracting(count) else { throw Overrun() }
            self.rest = left
        }
        return true
    }

    package struct Overrun: Error {}

    /// Whether all announced content was written.
    package var isComplete: Bool { rest ?? 0 == 0 }
}
