import CNGHTTP2

/// A field line of HTTP/2.
package struct HTTP2Field: Sendable, Equatable {
    /// In lower case.
    package var name: String
    package var value: [UInt8]

    package init(name: String, value: [UInt8]) {
        self.name = name
        self.value = value
    }

    package init(_ name: String, _ value: String) { self.init(name: name, value: Array(value.utf8)) }

    package var text: String { String(decoding: value, as: UTF8.self) }
}

/// The content of a request.
package struct HTTP2Upload: Sendable {
    package var content: [UInt8]
    /// The most bytes of a DATA frame.
    package var piece: Int
    /// Whether it waits for ``HTTP2ClientSession/release(_:)``.
    package var isHeld: Bool
    /// The fields that follow the content.
    package var trailers: [HTTP2Field] = []
    var place = 0

    package init(_ content: [UInt8], piece: Int = .max, isHeld: Bool = false) {
        self.content = content
        self.piece = max(1, piece)
        self.isHeld = isHeld
    }
}

/// The server's response on one stream, as far as it has come.
package struct HTTP2Response: Sendable {
    /// Zero before the final head.
    package private(set) var status = 0
    package private(set) var fields: [HTTP2Field] = []
    package private(set) var interim: [(status: Int, fields: [HTTP2Field])] = []
    package private(set) var trailers: [HTTP2Field] = []
    package var content: [UInt8] = []
    /// Whether the server has ended it.
    package internal(set) var isWhole = false
    /// Whether the stream is closed.
    package internal(set) var isOver = false
    /// The error code with which it was closed.
    package internal(set) var code: UInt32 = 0
    /// The reason why it is malformed.
    package internal(set) var problem: String?

    /// How it ended; `nil` if it is whole and well-formed.
    package var failure: String? {
        if let problem { return "malformed: \(problem)" }
        return isWhole ? nil : "reset with error \(code)"
    }

    mutating func take(_ section: [HTTP2Field]) {
        guard let code = section.first(where: { $0.name == ":status" }) else {
            trailers = section
            return
        }
        let rest = section.filter { $0.name != ":status" }
        let number = Int(code.text) ?? 0
        if (100..<200).contains(number) {
            interim.append((number, rest))
        } else {
            (status, fields) = (number, rest)
        }
    }
}

/// An error of nghttp2: the connection is of no more use.
package struct HTTP2Failure: Error, CustomStringConvertible {
    package var description: String

    init(_ code: Int32) { description = String(cString: nghttp2_strerror(code)) }
}
