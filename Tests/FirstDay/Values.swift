import Foundation
import Holdfast

// Values as people write them. All of this compiles.

private struct Input: Encodable, Sendable { var a: Int }
private enum Sort: String, Codable { case newest, oldest }

private func parameters(
    page: Int,
    text: String,
    flag: Bool,
    ratio: Double,
    optional: Int?,
    date: Date,
    id: UUID,
    url: URL,
    decimal: Decimal
) -> [HTTPTask] {
    let byName = ["a": 1]
    return [
        .query(["page": page]), .query(["q": text]), .query(["on": flag]), .query(["ratio": ratio]),
        .query(["x": optional]), .query(["page": page, "q": text, "on": flag, "x": optional]),
        .json(["q": "\(text)", "n": ParameterValue(page), "on": .boolean(flag), "d": .number(ratio), "m": .init(page)]),
        .json(["filter": .object(["page": page, "q": text]), "ids": [page, page], "byName": byName, "none": .null]),
        .query([
            "page": page, "q": text, "on": flag, "ratio": ratio, "x": optional, "date": date, "id": id, "url": url,
            "decimal": decimal, "sort": Sort.newest, "input": Input(a: page), "literal": "x",
        ]),
        .graphQL(GraphQLOperation("{ a }", variables: ["i": Input(a: 1), "page": page])),
        .graphQL(GraphQLOperation("{ a }", variables: RequestParameters(Input(a: 1)))),
    ]
}

private func defaults(page: Int, key: String) throws {
    var parameters = RequestParameters()
    parameters["page"] = page
    parameters["key"] = key
    parameters["on"] = .boolean(true)
    _ = RequestDefaults(fields: try HTTPFields(named: ["x-app-platform": "iOS"]), parameters: parameters)
}

private struct Toggles: Endpoint {
    let path = "/toggles"
    let headers = ["x-app-platform": "iOS"]
}

private enum GitHub: Endpoint {
    typealias HTTPHeaders = [String: String]
    case user(String), issue(Int)
    var path: URLPath {
        switch self {
        case .user(let name): "/users/\(name)"
        case .issue(let number): "/issues/\(number)"
        }
    }
    var headers: HTTPHeaders { ["accept": "application/json"] }
    var rule: RuleSettings? { RuleSettings { $0.freshness.lifetime = .minutes(5) } }
}

private let rules = try? RuleSet([
    Rule("catalogue", matching: .init(urls: ["https://api.example.com/**"])) { $0.freshness.lifetime = .days(1) }
])
