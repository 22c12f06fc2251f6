import HTTPCacheSemantics
public import HTTPTypes
public import HoldfastContent

/// The outcome of a request. It depends on the class of the status code (RFC 9110 §15), and on
/// whether the content is usable.
public enum ResponseOutcome: Sendable, Hashable, CaseIterable {
    /// 200 to 299.
    case success
    /// 300 to 399, if the redirection was not followed.
    case redirection
    /// 401 and 407: credentials are missing or rejected.
    case authenticationError
    /// Any other status from 400 to 499: the origin rejected the request.
    case badRequest
    /// 410 and 426: the resource, or this version of the client, is no longer served.
    case outdated
    /// 500 to 599, and every status that HTTP does not define: the origin failed. Also content that
    /// reports a failure (an envelope or GraphQL errors).
    case failed
    /// The status is a success, but expected content is missing.
    case noData
    /// The status is a success, but the content is not what was expected.
    case undecodable
    /// The status is a success, but the caller rejects the response, because it does not accept the
    /// status or one of its checks failed.
    case rejected
}

extension HTTPResponse.Status {
    /// The outcome for a status.
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
    /// The outcome of the request; `nil` if there was no response. It is never `success`.
    public var outcome: ResponseOutcome? {
        switch code {
        case .noData: .noData
        case .decodingFailed, .dataFormat: .undecodable
        case .envelope, .graphQL: .failed
        default: status.map { $0.outcome == .success ? .rejected : $0.outcome }
        }
    }

    /// Creates the error for a rejected status, with code `authenticationFailed`, `outdated` or
    /// `status`.
    ///
    /// - Parameters:
    ///   - target: the name of the request, without secrets.
    ///   - body: the part of the content that was read.
    package init(rejectedStatus status: HTTPResponse.Status, target: String, body: [UInt8]?) {
        switch status.outcome {
        case .authenticationError:
            self.init(
                code: .authenticationFailed,
                message: "'\(target)' responded with \(status): it requires credentials, or different ones.",
                status: status,
                body: body
            )
        case .outdated:
            self.init(
                code: .outdated,
                message:
                    "'\(target)' responded with \(status): it is no longer served, or not to this version of the client.",
                status: status,
                body: body
            )
        case .redirection where status.isRedirect:
            self.init(
                code: .status,
                message: "'\(target)' responded with \(status), and the redirect was not followed. "
                    + "The endpoint's 'redirects' determines which are.",
                status: status,
                body: body
            )
        case .success, .redirection, .badRequest, .failed, .noData, .undecodable, .rejected:
            self.init(code: .status, message: "'\(target)' responded with \(status).", status: status, body: body)
        }
    }
}
