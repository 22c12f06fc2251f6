import HTTPCache
import HoldfastContent

extension HoldfastError {
    /// Creates the error for a request that could not be prepared, so that nothing was sent. If a
    /// plugin waited for a response that failed, that response belonged to another request.
    init(preparing error: any Error, for endpoint: any Endpoint) {
        let target = "\(type(of: endpoint))"
        guard error is TransportError || error is BodyStreamError else {
            self.init(error, target: target)
            return
        }
        self.init(
            code: .transportFailed,
            message:
                "The request for '\(target)' was not sent because a request that a plugin needed first failed: \(type(of: error)).",
            cause: error
        )
    }
}
