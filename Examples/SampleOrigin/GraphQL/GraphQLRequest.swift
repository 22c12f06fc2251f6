import Foundation
import NIOCore

/// A GraphQL request: the JSON body of a POST, or the query parameters of a GET.
struct GraphQLRequest: Decodable {
    /// A variable's value, of a type that this origin's operations accept.
    enum Variable: Decodable {
        case string(String)
        case integer(Int)
        case boolean(Bool)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .integer(number)
            } else if let truth = try? container.decode(Bool.self) {
                self = .boolean(truth)
            } else if let text = try? container.decode(String.self) {
                self = .string(text)
            } else {
                self = .other
            }
        }
    }

    /// The `extensions` of a request; here, only the hash of a persisted query.
    struct Extensions: Decodable {
        struct PersistedQuery: Decodable {
            let version: Int
            let sha256Hash: String
        }

        let persistedQuery: PersistedQuery?
    }

    /// The query's text; `nil` if the request names a persisted query.
    let query: String?
    let variables: [String: Variable]?
    let operationName: String?
    let extensions: Extensions?

    /// Reads the body of a POST.
    init(body: ByteBuffer) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(body.readableBytesView))
    }

    /// Reads the parameters of a GET. `variables` and `extensions` contain JSON.
    init(_ parameters: Query) throws {
        query = parameters["query"]
        operationName = parameters["operationName"]
        variables = try Self.decoded(parameters["variables"])
        extensions = try Self.decoded(parameters["extensions"])
    }

    private static func decoded<Value: Decodable>(_ text: String?) throws -> Value? {
        try text.map { try JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
    }

    /// Returns an argument's value as text, after resolving variables. IDs can be given as numbers.
    func text(_ value: GraphQLValue?) -> String? {
        switch value {
        case .string(let text): text
        case .integer(let number): String(number)
        case .variable(let name):
            switch variables?[name] {
            case .string(let text): text
            case .integer(let number): String(number)
            case .boolean, .other, nil: nil
            }
        case .boolean, .other, nil: nil
        }
    }

    /// Returns an argument's value as a Boolean, after resolving variables; `nil` if it is not a
    /// Boolean.
    func truth(_ value: GraphQLValue?) -> Bool? {
        switch value {
        case .boolean(let truth): truth
        case .variable(let name): if case .boolean(let truth) = variables?[name] { truth } else { nil }
        case .string, .integer, .other, nil: nil
        }
    }
}

/// The response to a GraphQL request: data, errors, or both.
struct GraphQLResponse: Encodable {
    enum Value: Encodable {
        case details(MomentsDetails)
        case moment(Moment)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .details(let details): try details.encode(to: encoder)
            case .moment(let moment): try moment.encode(to: encoder)
            }
        }
    }

    struct Failure: Encodable {
        let message: String
        /// The response key of the failed field; `nil` if the whole request failed.
        var path: [String]?
        let extensions: [String: String]

        init(_ message: String, path: [String]? = nil, code: String) {
            self.message = message
            self.path = path
            self.extensions = ["code": code]
        }
    }

    /// The fields' values; a failed field is null. `nil` if no operation ran.
    var data: [String: Value?]?
    var errors: [Failure]?
}
