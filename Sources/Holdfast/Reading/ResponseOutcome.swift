public import HTTPTypes

/// What became of a request, as a caller tells cases apart: by the classes of status codes (RFC
/// 9110 §15), and by what the content was worth.
public enum ResponseOutcome: Sendable, Hashable, CaseIterable {
    /// 200 to 299.
    case success
    /// 300 to 399, where it was not followed.
    case redirection
    /// 401 and 407: credentials are missing, or no longer taken.
    case authenticationError
    /// Any other 400 to 499: the request is not one that the origin answers.
    case badRequest
    /// 410 and 426: what was asked for, or this version of the client, is no longer served.
    case outdated
    /// 500 to 599, and whatever HTTP does not define: the origin failed.
    case failed
    /// The status is a success, and nothing came with it where something was expected.
    case noData
    /// The status is a success, and what came with it is not what was expected.
    case undecodable
    /// The status is a success, and the caller takes it for none: it is not among those that it
    /// accepts, or a check of its own said so.
    case refused
}

extension HTTPResponse.Status {
    /// What a status says became of the request.
    public var outcome: ResponseOutcome {
        switch code {
        case 200...299: .success
        case 300...399: .redirection
        case 401, 407: .authenticationError
        case 410, 426: .outdated
        case 400...499: .badRequest
        default: .failed
        }
    }
}

extension HoldfastError {
    /// What became of the request, where it was answered; `nil` where no response came. Never
    /// `success`: what ended in an error was none.
    public var outcome: ResponseOutcome? {
        switch code {
        case .noData: .noData
        case .decodingFailed, .dataFormat: .undecodable
        case .envelope, .graphQL: .failed
        default: status.map { $0.outcome == .success ? .refused : $0.outcome }
        }
    }

    /// The error of a status that is not accepted: `authenticationFailed`, `outdated` or `status`.
    ///
    /// - Parameters:
    ///   - target: what was asked for, without secrets.
    ///   - body: the content, as far as it was read.
    public init(refused status: HTTPResponse.Status, target: String, body: [UInt8]?) {
        switch status.outcome {
        case .authenticationError:
            self.init(
                code: .authenticationFailed,
                message: "'\(target)' answered \(status): it wants credentials, or other ones.",
                status: status,
                body: body
            )
        case .outdated:
            self.init(
                code: .outdated,
                message:
                    "'\(target)' answered \(status): it is no longer served, or not to this version of the client.",
                status: status,
                body: body
            )
        case .success, .redirection, .badRequest, .failed, .noData, .undecodable, .refused:
            self.init(code: .status, message: "'\(target)' answered \(status).", status: status, body: body)
        }
    }
}
