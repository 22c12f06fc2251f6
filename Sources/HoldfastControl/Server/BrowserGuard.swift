import HTTPTypes

/// Rejects what a browser would send. A page on the operator's machine must neither change nor read
/// anything, whatever proxy leads it to the socket.
enum BrowserGuard {
    /// - Throws: ``ControlProblem``
    static func check(_ head: HTTPRequest) throws(ControlProblem) {
        // A rebound name is a foreign one. A second 'Host' stays among the fields.
        guard let host = head.authority, isLocal(host), head.headerFields[.host] == nil else {
            let host = head.authority ?? ""
            throw ControlProblem(
                .wrongHost,
                "'Host' is '\(ControlProblem.shown(host))', and 'localhost' is expected, once.",
                field: "Host",
                value: host
            )
        }
        if let origin = head.headerFields[.origin] {
            throw ControlProblem(
                .foreignOrigin,
                "'Origin' is '\(ControlProblem.shown(origin))'. No page of a browser may use the control plane. Send the request without it.",
                field: "Origin",
                value: origin
            )
        }
    }

    /// Checks the content type of a request that changes something: pages can send the types of
    /// forms without asking.
    ///
    /// - Throws: ``ControlProblem``
    static func checkContent(_ head: HTTPRequest) throws(ControlProblem) {
        let types = head.headerFields[values: .contentType]
        let first = types.first?.split(separator: ";", omittingEmptySubsequences: false).first ?? ""
        let type = first.trimming(while: { $0 == " " || $0 == "\t" }).lowercased()
        guard types.count == 1, type == "application/json" else {
            let value = types.joined(separator: ", ")
            throw ControlProblem(
                .notJSON,
                "'Content-Type' is '\(ControlProblem.shown(value))', and 'application/json' is expected.",
                field: "Content-Type",
                value: value
            )
        }
    }

    /// `localhost`, with or without a port.
    private static func isLocal(_ host: String) -> Bool {
        let parts = host.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.first?.lowercased() == "localhost" else { return false }
        return parts.count == 1 || parts[1].allSatisfy { $0.isASCII && $0.isNumber }
    }
}

extension HTTPField.Name {
    static var host: Self { Self(parsed: "host") ?? .authorization }
}

extension Substring {
    fileprivate func trimming(while isSpace: (Character) -> Bool) -> Substring {
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
