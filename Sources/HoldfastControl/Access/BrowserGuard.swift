import HTTPCacheSemantics
import HTTPTypes

/// Rejects requests that a browser could send on behalf of another site. A web page that an
/// operator visits must not read or change anything, even if a proxy forwards its requests to the
/// socket.
struct BrowserGuard: Sendable {
    let hosts: AllowedHosts
    /// Whether the control plane's own page may send requests.
    let permitsOwnOrigin: Bool
    /// The hosts at which a proxy may serve the page over `https`.
    var proxiedHosts = AllowedHosts(only: [])

    /// Checks the host, target and origin of a request.
    ///
    /// - Parameter acceptsAddresses: whether `Host` may also be any IP address. Programs that
    ///   discover gateways, such as Prometheus in a cluster, know only their addresses.
    /// - Throws: ``ControlProblem``
    func check(_ head: HTTPRequest, acceptsAddresses: Bool = false) throws(ControlProblem) {
        // After DNS rebinding, 'Host' contains another site's name. A second 'Host' remains among
        // the fields.
        guard let host = head.authority,
            hosts.contains(host) || (acceptsAddresses && AllowedHosts.isAddress(host)),
            head.values(of: "host").isEmpty
        else {
            let host = head.authority ?? ""
            throw ControlProblem(
                .wrongHost,
                "'Host' must occur once and be one of \(hosts.shown), not '\(ControlProblem.shown(host))'. "
                    + "To allow another host over TCP, add it to 'control.hosts'.",
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

    /// Returns whether an origin is this control plane's own page. The caller has checked the host.
    ///
    /// A page with the other scheme has no access: the token is in the session storage of its own
    /// origin, and there is no cookie.
    private func isOwn(_ origin: String, _ host: String) -> Bool {
        let (origin, host) = (origin.lowercased(), host.lowercased())
        return origin == "http://\(host)" || (origin == "https://\(host)" && proxiedHosts.contains(host))
    }

    /// Checks the content type of a request that changes something. A page of any site can send the
    /// content types of HTML forms without a preflight request.
    ///
    /// - Throws: ``ControlProblem``
    static func checkContent(_ head: HTTPRequest) throws(ControlProblem) {
        let types = head.headerFields[values: .contentType]
        guard types.count == 1, types[0].mediaType == "application/json" else {
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
    /// Returns the values of a field for which the library has no constant.
    ///
    /// - Parameter name: the field's name in lower case.
    func values(of name: String) -> [String] {
        headerFields.lazy.filter { $0.name.canonicalName == name }.map(\.value)
    }
}
