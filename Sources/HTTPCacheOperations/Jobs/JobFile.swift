package import HTTPCache
package import HTTPCacheSemantics

/// The file of a job: lines of JSON. The first line describes the job, and every other line one of
/// its requests, in the order in which they were first sent.
///
/// ```
/// {"holdfast-job":1,"name":"deps","made":1764441568000,"command":"npm","partition":"0f…","posts":false}
/// {"method":"GET","url":"https://a.example/x","fields":{"accept":"*/*"}}
/// ```
///
/// It contains no credentials: see ``JobRequest``.
package enum JobFile {
    /// The format's version, in the first line.
    package static let version = 1
    /// The maximum length of a file, in bytes.
    package static let maximumLength = 64 << 20
    /// The maximum number of requests.
    package static let maximumRequests = 1_000_000
    /// The maximum length of a line, in bytes. A target takes at most half of it.
    package static let maximumLineLength = 128 << 10

    /// The first line.
    package struct Header: Sendable, Hashable {
        package var name: JobName
        /// When the recording began.
        package var made: Timestamp
        /// The name of the program that was run. Its arguments may contain credentials.
        package var command: String
        /// The partition of the job's responses: ``JobRun/partition``.
        package var partition: JobPartition
        /// Whether the content of each POST is in its key.
        package var keysPosts: Bool
        /// See ``JobRun/Use/statesHTTPS``.
        package var statesHTTPS = false
        /// See ``JobRun/Use/secretParameters``.
        package var secretParameters: Set<String> = []
        /// See ``JobRun/Use/publicParameters``.
        package var publicParameters: Set<String> = []
        /// The number of unsafe requests that were passed on, by method.
        package var passed: [String: Int]
        /// The number of requests that are not in the file, because their URLs may contain secrets.
        package var doubtful = 0
        /// The names of cookies that were left out of the responses. A replay sets none of them.
        package var cookies: Set<String> = []

        /// The hosts of requests that the command's proxy could not read, or refused.
        package var unrecordedHosts = UnrecordedHosts()

        /// Whether requests were sent that cannot be answered, because they are not in the file.
        package var lacksRequests: Bool { !passed.isEmpty || doubtful > 0 || !unrecordedHosts.isEmpty }

        package init(
            name: JobName,
            made: Timestamp,
            command: String,
            partition: JobPartition,
            keysPosts: Bool = false,
            passed: [String: Int] = [:]
        ) {
            self.name = name
            self.made = made
            self.command = command
            self.partition = partition
            self.keysPosts = keysPosts
            self.passed = passed
        }

        /// The use of the job with which its requests have the keys of the recording.
        package var use: JobRun.Use {
            var use = JobRun.Use()
            use.keysPosts = keysPosts
            use.statesHTTPS = statesHTTPS
            use.secretParameters = secretParameters
            use.publicParameters = publicParameters
            return use
        }

        /// Returns whether a text can be the name of a parameter or of a cookie in a file: ASCII
        /// without spaces.
        package static func isParameterName(_ text: String) -> Bool {
            (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
    }

    /// A line after the first one.
    package struct Entry: Sendable, Hashable {
        package var request: JobRequest
        /// The reason that no response was recorded, as ``StorageRefusal``, ``ExchangeError/Code``
        /// or ``JobRun/Exclusion`` name it; `nil` if one was.
        package var why: String?

        package init(_ request: JobRequest, why: String? = nil) {
            self.request = request
            self.why = why
        }

        /// The reason that the request can never be part of the job.
        package var exclusion: JobRun.Exclusion? { why.flatMap(JobRun.Exclusion.init(rawValue:)) }
    }

    /// A line of a file.
    package enum Line: Sendable, Hashable {
        case header(Header)
        case entry(Entry)
    }

    /// The reason that a file is rejected. It shows no values.
    package struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name of the file.
        package let file: String
        /// The number of the line, from 1; `nil` if the whole file is meant.
        package let line: Int?
        /// The fault and the limit.
        package let message: String

        package init(_ file: String, line: Int? = nil, _ message: String) {
            self.file = file
            self.line = line
            self.message = message
        }

        package var description: String {
            "The job file '\(file)'\(line.map { ", line \($0)," } ?? "") \(message) "
                + "'holdfast record' with '--replace' replaces it, and 'holdfast jobs' with '--remove' removes it."
        }
    }
}

/// The name of a recording's partition: 128 random bits as 32 hexadecimal digits.
package struct JobPartition: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// Makes a name for a new recording.
    package init(using random: inout some RandomNumberGenerator) {
        let bits = [random.next(), random.next()] as [UInt64]
        description = bits.map { bits in
            let digits = String(bits, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// - Returns: `nil` if the text is not such a name.
    package init?(_ text: String) {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else { return nil }
        description = text
    }
}
