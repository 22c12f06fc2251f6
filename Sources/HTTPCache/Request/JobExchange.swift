package import HTTPCacheSemantics
package import HTTPTypes

/// A request of a job, and how its exchange ended.
package struct JobExchange: Sendable {
    /// How an exchange ended.
    package enum Ending: Sendable {
        /// The client got a response. It was stored, or came from the store.
        case kept
        /// The client got a response that was not stored, for this reason.
        case passed(StorageRefusal)
        /// The client got a response to a request that must not be recorded.
        case excluded(JobRun.Exclusion)
        /// The method is unsafe, and the content is not in the key.
        case unsafe
        /// The client got no response. The code is that of an ``ExchangeError``.
        case failed(code: String, message: String)
    }

    /// The order in which requests arrived.
    package var ordinal: UInt64
    package var request: JobRequest
    /// If the client got no response, all request fields that may select one, without credentials.
    package var asked: HTTPFields
    package var ending: Ending
    /// The names of the cookies that the client got. The job does not have them.
    package var cookies: [String]

    package init(
        ordinal: UInt64,
        request: JobRequest,
        asked: HTTPFields = [:],
        ending: Ending,
        cookies: [String] = []
    ) {
        self.ordinal = ordinal
        self.request = request
        self.asked = asked
        self.ending = ending
        self.cookies = cookies
    }
}
