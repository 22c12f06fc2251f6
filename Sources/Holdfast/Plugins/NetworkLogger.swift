import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
public import Logging
import NIOCore

/// Logs network requests and their responses, without secrets.
///
/// ```swift
/// let configuration = CachingClient.Configuration(plugins: [NetworkLogger(logger)])
/// ```
///
/// A request that the store serves is neither sent nor logged. The method, target, status, duration
/// and sizes are logged. Fields and content are logged only if ``Options`` enables them. `REDACTED`
/// replaces all of these:
/// - user information in URLs
/// - fields such as `Authorization` and `Cookie`
/// - parameters whose names suggest a secret
/// - the ``Secrets`` of the client, the endpoint and the plugins
/// - the request's secrets, if a response repeats them
///
/// Content may contain secrets that no name reveals, so do not log content in production.
public struct NetworkLogger: ObservingPlugin {
    /// The format of log entries.
    public enum Form: Sendable, Hashable {
        /// Constant messages with metadata, for machines.
        case metadata
        /// One readable line per event.
        case text
        /// Requests as `curl` commands, which you can run once you fill in the secrets. Other
        /// events have the same form as ``text``.
        case curl
    }

    /// The logging options. Fields and content are not logged by default.
    public struct Options: Sendable, Hashable {
        /// The format of log entries. ``Form/metadata`` by default.
        public var form: Form
        /// The log level. `debug` by default.
        public var level: Logger.Level
        /// Whether fields are logged.
        public var showsFields: Bool
        /// The maximum number of content bytes to log for each request and response, before secrets
        /// are replaced. With 0, no content is logged.
        ///
        /// JSON, forms and text are logged. Multipart forms and compressed content are not.
        public var contentLimit: Int

        /// Creates options. See the properties for the defaults.
        public init(
            form: Form = .metadata,
            level: Logger.Level = .debug,
            showsFields: Bool = false,
            contentLimit: Int = 0
        ) {
            self.form = form
            self.level = level
            self.showsFields = showsFields
            self.contentLimit = contentLimit
        }
    }

    private let logger: Logger
    private let options: Options

    /// Creates a plugin that writes to a logger.
    public init(_ logger: Logger, _ options: Options = Options()) {
        self.logger = logger
        self.options = options
    }

    /// See ``ObservingPlugin``.
    public var contentLimit: Int { isSilent ? 0 : options.contentLimit }

    /// See ``ObservingPlugin``.
    public func willSend(_ request: SentRequest, for call: CallInfo) {
        guard !isSilent else { return }
        let redaction = SecretRedaction(call.secrets)
        let content = request.shownContent(upTo: options.contentLimit, redaction)
        var facts = Facts(request, call, redaction)
        facts.add("http.request.body.size", request.bytes.map { "\($0)" })
        if options.showsFields { facts.add("http.request.fields", fields: redaction.fields(request.head.headerFields)) }
        facts.add("http.request.content", content?.line)
        switch options.form {
        case .metadata: write("Request sent", facts)
        case .text: write("→ \(facts.line)")
        case .curl:
            write("\(CurlCommand(request.head, content: content, redaction: redaction))")
        }
    }

    /// See ``ObservingPlugin``.
    public func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    ) {
        guard !isSilent else { return }
        let redaction = SecretRedaction(call.secrets)
        var facts = Facts(request, call, redaction)
        facts.add("http.duration.ms", duration.milliseconds)
        switch result {
        case .success(let response):
            facts.add("http.status", "\(response.status.code)")
            facts.add("http.response.body.size", response.headerFields[.contentLength])
            if options.showsFields {
                // An origin may repeat the secrets that it received.
                let secrets = redaction.values(in: request.head)
                facts.add("http.response.fields", fields: redaction.fields(response.headerFields), hiding: secrets)
            }
            write(options.form == .metadata ? "Response received" : "← \(facts.line)", facts)
        case .failure(let error):
            facts.add("error", error.fault)
            write(options.form == .metadata ? "Request failed" : "✕ \(facts.line)", facts)
        }
    }

    /// See ``ObservingPlugin``.
    public func didEnd(
        _ content: ReceivedContent,
        of response: HTTPResponse,
        to request: SentRequest,
        for call: CallInfo
    ) {
        guard !isSilent else { return }
        let redaction = SecretRedaction(call.secrets)
        var facts = Facts(request, call, redaction)
        facts.add("http.duration.ms", content.duration.milliseconds)
        facts.add("http.status", "\(response.status.code)")
        facts.add("http.response.body.size", "\(content.bytes)")
        if options.contentLimit > 0, content.bytes > 0 {
            let shown = ShownContent(
                content.beginning,
                isWhole: content.isWhole,
                fields: response.headerFields,
                redaction: redaction,
                secrets: redaction.values(in: request.head)
            )
            facts.add("http.response.content", shown.line)
        }
        switch content.ending {
        case .complete: break
        case .abandoned: facts.add("http.response.ending", "given up")
        case .brokenOff(let error): facts.add("error", error.fault)
        }
        write(options.form == .metadata ? "Response content ended" : "⇤ \(facts.line)", facts)
    }

    private var isSilent: Bool { logger.logLevel > options.level }

    private func write(_ message: Logger.Message, _ facts: Facts? = nil) {
        logger.log(level: options.level, message, metadata: options.form == .metadata ? facts?.metadata : nil)
    }
}

/// The facts about one event, in order of output.
private struct Facts {
    private let start: String
    private var facts: [(name: String, value: Logger.MetadataValue)]
    private(set) var line: String

    init(_ request: SentRequest, _ call: CallInfo, _ redaction: SecretRedaction) {
        let (method, target) = (request.head.method.rawValue.withoutControls, redaction.target(of: request.head))
        start = "\(method) \(target)"
        line = start
        facts = [("call.number", "\(call.number)"), ("http.method", "\(method)"), ("http.url", "\(target)")]
        if call.attempt > 0 { add("call.attempt", "\(call.attempt)") }
    }

    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        facts.append((name, "\(value)"))
        line += " \(name)=\(value)"
    }

    mutating func add(_ name: String, fields: HTTPFields, hiding secrets: [[UInt8]] = []) {
        let lines = fields.map { field in
            let line = "\(field.name): \(field.value)"
            return String(decoding: Array(line.utf8).hiding(secrets), as: UTF8.self).withoutControls
        }
        facts.append((name, .array(lines.map { "\($0)" })))
        for line in lines { self.line += "\n    \(line)" }
    }

    var metadata: Logger.Metadata { Logger.Metadata(facts, uniquingKeysWith: { $1 }) }
}

extension SentRequest {
    /// The length of the content in bytes, if known.
    fileprivate var bytes: StatedLength? {
        switch body {
        case .buffer(let buffer): StatedLength(clamping: buffer.readableBytes)
        case .stream(let stream): stream.length
        case nil: nil
        }
    }

    fileprivate func shownContent(upTo limit: Int, _ redaction: SecretRedaction) -> ShownContent? {
        switch body {
        case .buffer(let buffer):
            guard limit > 0, buffer.readableBytes > 0 else { return buffer.readableBytes > 0 ? .leftOut : nil }
            return ShownContent(
                Array(buffer.readableBytesView.prefix(limit)),
                isWhole: buffer.readableBytes <= limit,
                fields: head.headerFields,
                redaction: redaction,
                secrets: redaction.values(in: head)
            )
        case .stream: return .leftOut
        case nil: return nil
        }
    }
}

extension Error {
    /// A description of the failure without secrets. Errors of unknown types might contain secrets,
    /// so only their type is shown.
    fileprivate var fault: String {
        switch self {
        case let error as TransportError: "\(error.code): \(Redaction.uriText(error.message))"
        case is CancellationError: "cancelled"
        default: "\(type(of: self))"
        }
    }
}

extension Duration {
    /// The duration in milliseconds, rounded to a tenth.
    fileprivate var milliseconds: String { "\(((self / .milliseconds(1)) * 10).rounded() / 10)" }
}
