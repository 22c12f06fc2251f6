import Foundation

/// The JSON body of a GraphQL request.
struct GraphQLRequest: Decodable {
    /// A variable's value, as far as the operations here take one.
    enum Variable: Decodable {
        case string(String)
        case integer(Int)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .integer(number)
            } else if let text = try? container.decode(String.self) {
                self = .string(text)
            } else {
                self = .other
            }
        }
    }

    let query: String
    let variables: [String: Variable]?
    let operationName: String?

    /// An argument's value as text, variables resolved; ids may be given as numbers.
    func text(_ value: GraphQLValue?) -> String? {
        switch value {
        case .string(let text): text
        case .integer(let number): String(number)
        case .variable(let name):
            switch variables?[name] {
            case .string(let text): text
            case .integer(let number): String(number)
            case .other, nil: nil
            }
        case .other, nil: nil
        }
    }
}

/// What a GraphQL request is answered with: data, or what went wrong.
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
        /// The response key of the field that failed; absent when the request as a whole did.
        var path: [String]?
        let extensions: [String: String]

        init(_ message: String, path: [String]? = nil, code: String) {
            self.message = message
            self.path = path
            self.extensions = ["code": code]
        }
    }

    /// A field that failed is there, and null; no data at all when nothing ran.
    var data: [String: Value?]?
    var errors: [Failure]?
}
