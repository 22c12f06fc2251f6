package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// The requests of a job while it is recorded. It takes exchanges, and returns the requests.
package struct JobRecording: Sendable {
    /// The limits of a recording. A job that exceeds one is not kept.
    package struct Limits: Sendable, Hashable {
        package var requests = JobFile.maximumRequests
        /// The length of the job's file, in bytes.
        package var length = JobFile.maximumLength

        package init() {}
    }

    /// A limit of a recording.
    package enum Limit: String, Sendable, Hashable, CaseIterable {
        case requests
        /// The length of the job's file.
        case bytes
    }

    /// The numbers of a recording, for reports.
    package struct Count: Sendable, Hashable {
        /// The requests in the job's file.
        package var requests = 0
        /// The length of the file's lines.
        package var bytes = 0
        /// See ``JobRecording/passed``.
        package var passed: [String: Int] = [:]
        /// See ``JobRecording/otherIdentities``.
        package var otherIdentities: [String: Int] = [:]
        /// See ``JobRecording/doubtfulNames``.
        package var doubtfulNames: Set<String> = []
        /// See ``JobRecording/doubtfulCount``.
        package var doubtful = 0
        /// See ``JobRecording/cookies``.
        package var cookies: Set<String> = []
        /// See ``JobRecording/failures``.
        package var failures: [String: String] = [:]

        package init() {}
    }

    /// A request without the fields that select its response.
    private struct Subject: Hashable {
        let method: HTTPRequest.Method
        let target: TargetURI
        let content: [UInt8]?
        /// The rules may change during a recording.
        let form: ContentForm?

        init(_ request: JobRequest) {
            (method, target) = (request.method, request.target)
            (content, form) = (request.content, request.form)
        }
    }

    /// The maximum number of methods that are counted by name. Clients can invent methods.
    private static let methodLimit = 16
    /// The maximum number of names of parameters, of names of cookies, of origins with other
    /// identities, and of origins that failed, that are kept.
    private static let nameLimit = 16
    /// The maximum length of a cookie's name, in bytes. An origin can invent names.
    private static let cookieNameLength = 64

    private let limits: Limits
    private let publicParameters: Set<String>
    private var subjects: [Subject: SubjectExchanges] = [:]
    private var requests = 0
    private var length = 0
    /// The number of unsafe requests that were passed on, by method.
    package private(set) var passed: [String: Int] = [:]
    /// The origins at which requests had other credentials than the first ones, with their numbers.
    package private(set) var otherIdentities: [String: Int] = [:]
    /// The names of parameters that may be secrets, because of which requests were not recorded.
    package private(set) var doubtfulNames: Set<String> = []
    /// The number of these requests.
    package private(set) var doubtfulCount = 0
    /// The names of cookies that clients got, and that are left out of the recorded responses.
    package private(set) var cookies: Set<String> = []
    /// Why the first request failed, by the origin of requests that got no response.
    package private(set) var failures: [String: String] = [:]
    /// The limit that the job exceeds.
    package private(set) var exceeded: Limit?

    /// Whether the job exceeds a limit.
    package var isFull: Bool { exceeded != nil }

    /// The numbers of requests until now.
    package var count: Count {
        var result = Count()
        result.requests = requests
        result.bytes = length
        result.passed = passed
        result.otherIdentities = otherIdentities
        result.doubtfulNames = doubtfulNames
        result.doubtful = doubtfulCount
        result.cookies = cookies
        result.failures = failures
        return result
    }

    /// Returns a job's first line with the numbers of requests that are not in the file, and the
    /// names of the cookies that are not in the responses.
    package func completing(_ header: JobFile.Header) -> JobFile.Header {
        var header = header
        header.passed = passed
        header.doubtful = doubtfulCount
        header.cookies = cookies
        return header
    }

    /// The hosts of requests in the job, as URLs name them.
    package var hosts: Set<String> { Set(subjects.keys.map(\.target.host)) }

    /// - Parameter publicParameters: see ``JobRun/Use/publicParameters``.
    package init(publicParameters: Set<String> = [], limits: Limits = Limits()) {
        self.publicParameters = publicParameters
        self.limits = limits
    }

    /// Takes an exchange.
    package mutating func take(_ exchange: JobExchange) {
        guard !isFull else { return }
        let request = exchange.request
        switch exchange.ending {
        case .kept:
            keep(request, exchange.ordinal)
            for name in exchange.cookies where cookies.count < Self.nameLimit {
                if name.utf8.count <= Self.cookieNameLength { cookies.insert(name) }
            }
        case .passed(let refusal): miss(request, exchange.ordinal, refusal.rawValue)
        case .failed(let code, let message):
            let origin = Self.origin(of: request)
            if failures.count < Self.nameLimit, failures[origin] == nil { failures[origin] = message }
            miss(request, exchange.ordinal, code)
        case .excluded(let exclusion):
            switch exclusion {
            case .credentials:
                let origin = Self.origin(of: request)
                let isNamed = otherIdentities[origin] != nil || otherIdentities.count < Self.nameLimit
                otherIdentities[isNamed ? origin : "other origins", default: 0] += 1
                miss(request, exchange.ordinal, exclusion.rawValue, always: true)
            case .parameters:
                // The URL must not be in the file.
                doubtfulCount += 1
                for name in JobRun.doubtful(in: request.target.query, except: publicParameters)
                where doubtfulNames.count < Self.nameLimit {
                    doubtfulNames.insert(name)
                }
            }
        case .unsafe:
            let method = request.method.rawValue
            passed[passed[method] != nil || passed.count < Self.methodLimit ? method : "other", default: 0] += 1
        }
    }

    private static func origin(of request: JobRequest) -> String {
        "\(request.target.scheme)://\(request.target.authority)"
    }

    private mutating func keep(_ request: JobRequest, _ ordinal: UInt64) {
        grow(subjects[Subject(request), default: SubjectExchanges()].keep(request, ordinal))
    }

    /// - Parameter always: see ``SubjectExchanges/miss(_:_:_:always:)``.
    private mutating func miss(_ request: JobRequest, _ ordinal: UInt64, _ why: String, always: Bool = false) {
        grow(subjects[Subject(request), default: SubjectExchanges()].miss(request, ordinal, why, always: always))
    }

    private mutating func grow(_ growth: SubjectExchanges.Growth) {
        requests += growth.requests
        length += growth.length
        exceeded = requests > limits.requests ? .requests : length > limits.length ? .bytes : nil
    }

    /// The requests of the job, in the order in which they were first sent.
    package var entries: [JobFile.Entry] {
        var all: [(ordinal: UInt64, entry: JobFile.Entry)] = []
        for (subject, exchanges) in subjects {
            if let missing = exchanges.missing { all.append(missing) }
            for (fields, ordinal) in exchanges.kept.all {
                var request = JobRequest(
                    method: subject.method,
                    target: subject.target,
                    fields: fields,
                    content: subject.content
                )
                (request.form, request.members) = (subject.form, exchanges.members)
                all.append((ordinal, JobFile.Entry(request)))
            }
        }
        return all.sorted { $0.ordinal < $1.ordinal }.map { $0.entry }
    }
}
