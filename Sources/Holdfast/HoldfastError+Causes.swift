import HTTPCache
import HoldfastContent
import OfflineStore

extension HoldfastError {
    /// Whether the origin did not respond, did not respond in time, responded with a server error
    /// (5xx), or was not contacted.
    var isNetworkFailure: Bool {
        switch code {
        case .originUnreachable, .overloaded, .truncated, .transportFailed, .timeout, .offlineMiss: true
        case .status: status?.kind == .serverError
        default: false
        }
    }

    /// Whether a response arrived whose content this call cannot use. The call treats it like a
    /// missing response. Failures that the origin itself reports (a status, an envelope, GraphQL
    /// errors) are not included.
    var isContentFailure: Bool {
        switch code {
        case .decodingFailed, .noData, .dataFormat, .redirectFailed: true
        default: false
        }
    }

    /// Converts any error to a `HoldfastError`.
    init(_ error: any Error, target: String) {
        switch error {
        case let error as HoldfastError: self = error
        case is CancellationError:
            self.init(code: .cancelled, message: "The request for '\(target)' was canceled.", cause: error)
        case let error as ExchangeError:
            self.init(code: Code(error.code), message: error.message, cause: error.cause ?? error)
        case let error as StoreError where error.code == .closed:
            self.init(code: .closed, message: "The store was closed before '\(target)' was read.", cause: error)
        case BodyStreamError.tooLarge(let limit):
            self.init(
                code: .bodyTooLarge,
                message: "The response for '\(target)' has more than \(limit) bytes, the limit for decoding. "
                    + "Raise 'maximumBodyBytes', or stream the response.",
                cause: error
            )
        case BodyStreamError.truncated(let expected, let received):
            self.init(
                code: .truncated,
                message:
                    "The response for '\(target)' has \(received) bytes instead of \(expected). Try again.",
                cause: error
            )
        case let error as DecodingError:
            self.init(
                code: .decodingFailed,
                message: "The content of '\(target)' could not be decoded: \(error.faultWithoutValues)",
                codingPath: error.codingPath,
                cause: error
            )
        case let error as TransportError:
            self.init(
                code: error.code.isUnreachable ? .truncated : .transportFailed,
                message: "The response for '\(target)' broke off: \(error.message)",
                cause: error
            )
        default:
            self.init(
                code: .transportFailed,
                message: "The request for '\(target)' failed: \(type(of: error)).",
                cause: error
            )
        }
    }
}

extension HoldfastError.Code {
    init(_ code: ExchangeError.Code) {
        switch code {
        case .offlineMiss: self = .offlineMiss
        case .staleForbidden: self = .staleForbidden
        case .originUnreachable: self = .originUnreachable
        case .overloaded: self = .overloaded
        case .invalidTarget: self = .invalidURL
        case .shutDown: self = .closed
        default: self = .transportFailed
        }
    }
}
