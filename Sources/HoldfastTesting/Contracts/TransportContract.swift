public import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// The contract of every `Transport`, as a test suite that returns its findings about a transport
/// connected to the suite's own origin.
///
/// The origin is a loopback socket that the suite scripts byte by byte. Every byte on the wire is
/// therefore known, and no server in between corrects anything.
///
/// ```swift
/// @Test func myTransportKeepsTheContract() async throws {
///     let transport = MyTransport()
///     #expect(try await TransportContract(transport).run() == [])
/// }
/// ```
public struct TransportContract: Sendable {
    private let transport: any Transport
    private let timeout: Duration

    /// Creates the suite for one transport, which speaks HTTP/1.1 to `http` origins.
    ///
    /// - Parameter timeout: the time limit for one rule. Only a transport that hangs reaches it.
    public init(_ transport: any Transport, timeout: Duration = .seconds(30)) {
        self.transport = transport
        self.timeout = timeout
    }

    /// A rule, tested with its own origin.
    struct Rule: Sendable {
        var sentence: String
        var responses: [ScriptedOrigin.Response]
        var check: @Sendable (TransportUnderTest) async throws -> Void

        init(
            _ sentence: String,
            _ responses: [ScriptedOrigin.Response],
            _ check: @escaping @Sendable (TransportUnderTest) async throws -> Void
        ) {
            self.sentence = sentence
            self.responses = responses
            self.check = check
        }
    }

    /// The rules that ``run(where:)`` checks.
    public var rules: [String] { Self.allRules.map(\.sentence) }

    private static let allRules = sending + receiving + failing

    /// Checks the rules.
    ///
    /// - Parameter isIncluded: whether to check a rule, given its sentence; includes all rules by
    ///   default.
    /// - Returns: the violations; empty if the transport fulfills the contract.
    /// - Throws: an error if no loopback socket can be opened.
    public func run(where isIncluded: (String) -> Bool = { _ in true }) async throws -> [ContractFinding] {
        var found: [ContractFinding] = []
        for rule in Self.allRules where isIncluded(rule.sentence) {
            let origin = try await ScriptedOrigin.start(rule.responses)
            found += await findings(of: rule.sentence, timeout: timeout) { findings in
                try await withTaskCancellationHandler {
                    try await rule.check(TransportUnderTest(transport: transport, origin: origin, findings: findings))
                } onCancel: {
                    origin.abort()
                }
            }
            await origin.stop()
        }
        return found
    }
}

/// A transport under test and its origin.
struct TransportUnderTest: Sendable {
    let transport: any Transport
    let origin: ScriptedOrigin
    let findings: Findings

    func request(
        _ path: String = "/",
        _ method: HTTPRequest.Method = .get,
        fields: HTTPFields = [:],
        body: BodyStream? = nil
    ) -> TransportRequest {
        TransportRequest(
            head: HTTPRequest(
                method: method,
                scheme: "http",
                authority: origin.authority,
                path: path,
                headerFields: fields
            ),
            body: body
        )
    }

    /// Sends a request and reads the whole response.
    func exchange(_ request: TransportRequest) async throws -> (head: HTTPResponse, body: String) {
        let response = try await transport.send(request)
        return (response.head, String(buffer: try await response.body.collect(upTo: 1 << 24)))
    }

    /// Returns the error code that an exchange fails with. Records a finding if the exchange
    /// succeeds or fails with an error of another type.
    func failure(_ request: TransportRequest) async -> TransportError.Code? {
        do {
            let (head, body) = try await exchange(request)
            findings.add("the exchange returned a response: \(head.status.code), \(body.utf8.count) bytes")
        } catch let error as TransportError {
            return error.code
        } catch {
            findings.add("the error is not a 'TransportError': \(error)")
        }
        return nil
    }
}
