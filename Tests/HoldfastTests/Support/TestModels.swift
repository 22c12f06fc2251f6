import Foundation
import Holdfast
import Synchronization

/// The feed of a user. REST and GraphQL return the same model.
struct MomentsDetails: Codable, Sendable, Equatable {
    struct UserDetails: Codable, Sendable, Equatable {
        var id: String
        var name: String
        var avatar: String
        var backgroundImage: String
    }
    struct Author: Codable, Sendable, Equatable {
        var name: String
        var avatar: String
    }
    enum Kind: String, Codable, Sendable {
        case url = "URL"
        case photos = "PHOTOS"
    }
    struct Moment: Codable, Sendable, Equatable {
        var id: String
        var userDetails: Author
        var type: Kind
        var title: String?
        var url: String?
        var photos: [String]
        var createdDate: Date
        var isLiked: Bool?
    }
    var userDetails: UserDetails
    var moments: [Moment]
}

/// The part of a request that the origin's `/echo` returns.
struct Echo: Decodable, Sendable {
    struct Body: Decodable, Sendable { var length: Int, sha256: String }
    var method: String
    var target: String
    var fields: [[String]]
    var body: Body

    subscript(name: String) -> [String] {
        fields.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] }
    }
}

/// A request that is written at its point of use, for any response type.
typealias AnyRequest = AdHocRequest

extension AdHocRequest {
    init(
        baseURL: String,
        path: String,
        method: HTTPRequest.Method = .get,
        headers: HTTPFields = [:],
        task: HTTPTask = .plain,
        storage: CacheRequest.Storage = .byResponse,
        valuePath: ValuePath = "",
        principal: String? = nil,
        invalidates: [StoreInvalidation] = [],
        emptyContent: EmptyContent = .missing,
        envelope: EnvelopeChoice = .inherited
    ) {
        self.init(baseURL, method: method, task: task, headers: headers)
        (self.baseURL, self.path) = (baseURL, path)
        self.storage = storage
        self.valuePath = valuePath
        self.principal = principal
        self.invalidates = invalidates
        self.emptyContent = emptyContent
        self.envelope = envelope
    }
}

/// The error that `body` throws, or `nil` if it throws none or another type of error.
func failure(_ body: () async throws -> Void) async -> HoldfastError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? HoldfastError
    }
}

/// Keeps a value from a callback for the test.
final class Kept<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)
    var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
