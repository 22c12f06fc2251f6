import Testing

@testable import soak

/// A history of one resource, given to an oracle without any process.
struct Story {
    var oracle = Oracle(seed: 1)
    let resource: Resource
    var selector = "-"
    var content: [UInt8]?
    /// Requests that wait behind.
    var behind = 0
    /// Alters a correct gateway's response into a wrong one.
    var alter: (inout ReceivedResponse) -> Void = { _ in }

    init(_ target: String) throws { resource = try #require(Resource(target)) }

    func name(version: Int) -> History.Name { History.Name(version: version, selector: selector) }

    func representation(version: Int) -> Representation {
        Representation(resource, version: version, selector: selector, noise: oracle.noise)
    }

    mutating func origin(version: Int, at: Moment, confirms: Bool = true) {
        oracle.originSends(resource, name(version: version), confirms: confirms, as: "GET", at: at)
    }

    /// A GET whose response is the version's, as far as it is not altered.
    mutating func get(version: Int, _ status: String, age: Int? = nil, at: Moment) -> [Finding.Rule] {
        let representation = representation(version: version)
        var response = ReceivedResponse(status: representation.status, fields: fields(version, status))
        if let age { response.set("age", "\(age)") }
        if resource.hasValidators { response.set("etag", representation.entityTag) }
        response.content = representation.bytes
        alter(&response)
        return judge(.response(response), at: at)
    }

    /// A change through the gateway that the origin took.
    mutating func change(_ method: String, version: Int, at: Moment) -> [Finding.Rule] {
        var response = ReceivedResponse(status: 200, fields: fields(version, "fwd=method"))
        alter(&response)
        return judge(.response(response), method: method, at: at)
    }

    mutating func judge(
        _ result: ObservedExchange.Result,
        method: String = "GET",
        at: Moment
    ) -> [Finding.Rule] {
        let request = ClientRequest(
            method: method,
            resource: resource,
            content: content,
            number: "n",
            selector: selector,
            habit: .plain
        )
        let exchange = ObservedExchange(
            request: request,
            sentAt: at,
            endedAt: at + 0.2,
            connectedAt: at - 0.1,
            result: result,
            place: 0,
            behind: behind
        )
        return oracle.judge(exchange).map(\.rule)
    }

    private func fields(_ version: Int, _ status: String) -> [(name: String, value: String)] {
        [
            ("x-soak-target", resource.target), ("x-soak-version", "\(version)"), ("x-soak-selector", selector),
            ("x-soak-number", "n"), ("cache-status", "holdfast; \(status)"),
            ("x-soak-took", "\(content?.count ?? 0) \((content ?? []).digest)"),
        ]
    }
}

extension ReceivedResponse {
    mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name == name }
        fields.append((name, value))
    }
}
