import HTTPTypes

/// Rejects requests that a browser could send for another site. A page on the operator's machine
/// must not read or change anything, whatever proxy leads it to the socket.
struct BrowserGuard: Sendable {
    let hosts: AllowedHosts
    /// Whether a page of the control plane itself may use it.
    let permitsOwnOrigin: Bool
    /// The hosts whose page may have been loaded over `https`, through a proxy that terminates TLS.
    var proxiedHosts = AllowedHosts(only: [])

    /// - Throws: ``ControlProblem``
    func check(_ head: HTTPRequest) throws(ControlProblem) {
        // A rebound name is another site's host. A second 'Host' stays among the fields.
        guard let host = head.authority, hosts.contains(host), head.values(of: "host").isEmpty else {
            let host = head.authority ?? ""
            throw ControlProblem(
                .wrongHost,
                "'Host' must occur once and be one of \(hosts.shown), not '\(ControlProblem.shown(host))'. "
                    + "Add hosts of a control plane on TCP with 'control.hosts'.",
                field: "Host",
                value: host
            )
        }
        // A target in absolute form names a host in addition to 'Host'. RFC 9112 §3.2.2
        guard head.path?.hasPrefix("/") == true else {
            let target = head.path ?? ""
            throw ControlProblem(
                .wrongHost,
                "The request target must be a path such as '/livez', not '\(ControlProblem.shown(target))'.",
                field: "path",
                value: target
            )
        }
        let origins = head.headerFields[values: .origin]
        guard let origin = origins.first else { return }
        guard permitsOwnOrigin, origins.count == 1, isOwn(origin, host) else {
            throw ControlProblem(
                .foreignOrigin,
                "'Origin' is '\(ControlProblem.shown(origin))'. Web pages may not use the control plane. Send the request without 'Origin'.",
                field: "Origin",
                value: origin
            )
        }
    }

    /// Whether a page came from this control plane. Its host must be an allowed one.
    ///
    /// A page with the other scheme gains nothing: the token is in the storage of its own origin,
    /// and there is no cookie.
    private func isOwn(_ origin: String, _ host: String) -> Bool {
        let (origin, host) = (origin.lowercased(), host.lowercased())
        return origin == "http://\(host)" || (origin == "https://\(host)" && proxiedHosts.contains(host))
    }

    /// Checks the content type of a request that changes something. Pages of any site can send the
    /// types of forms without a preflight.
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
                "'Content-Type' must be 'application/json', not '\(ControlProblem.shown(value))'.",
                field: "Content-Type",
                value: value
            )
        }
    }
}

extension HTTPRequest {
    /// The values of fields for whose name the library has no constant.
    ///
    /// - Parameter name: lowercase.
    func values(of name: String) -> [String] {
        headerFields.lazy.filter { $0.name.canonicalName == name }.map(\.value)
    }
}

extension Substring {
    fileprivate func trimming(while isSpace: (Character) -> Bool) -> Substring {
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
