public import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// What every `Transport` promises, as a suite that tries it out against an origin of its own and
/// returns what it finds.
///
/// The origin is a socket on loopback that the suite scripts byte by byte, so that what is on the
/// wire is known: nothing between the transport and the check is polite.
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

    /// The suite for one transport, which speaks HTTP/1.1 to `http` origins.
    ///
    /// - Parameter timeout: for one rule; reached only by a transport that breaks it by hanging.
    public init(_ transport: any Transport, timeout: Duration = .seconds(30)) {
        self.transport = transport
        self.timeout = timeout
    }

    /// One rule, tried on an origin of its own.
    struct Rule: Sendable {
        var sentence: String
        var answers: [ScriptedOrigin.Answer]
        var check: @Sendable (TransportBench) async throws -> Void

        init(
            _ sentence: String,
            _ answers: [ScriptedOrigin.Answer],
            _ check: @escaping @Sendable (TransportBench) async throws -> Void
        ) {
            self.sentence = sentence
            self.answers = answers
            self.check = check
        }
    }

    /// The sentences that ``run(where:)`` checks.
    public var rules: [String] { Self.allRules.map(\.sentence) }

    private static let allRules = sending + receiving + failing

    /// Tries the rules.
    ///
    /// - Parameter isIncluded: whether to try a sentence; all of them unless told otherwise.
    /// - Returns: what is broken; nothing when the transport keeps the contract.
    /// - Throws: when no socket can be opened on loopback.
    public func run(where isIncluded: (String) -> Bool = { _ in true }) async throws -> [ContractFinding] {
        var found: [ContractFinding] = []
        for rule in Self.allRules where isIncluded(rule.sentence) {
            let origin = try await ScriptedOrigin.start(rule.answers)
            found += await findings(of: rule.sentence, timeout: timeout) { findings in
                try await withTaskCancellationHandler {
                    try await rule.check(TransportBench(transport: transport, origin: origin, findings: findings))
                } onCancel: {
                    origin.giveUp()
                }
            }
            await origin.stop()
        }
        return found
    }
}

/// A transport on the bench, and the origin it speaks to.
struct TransportBench: Sendable {
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

    /// Sends and reads the whole answer.
    func exchange(_ request: TransportRequest) async throws -> (head: HTTPResponse, body: String) {
        let response = try await transport.send(request)
        return (response.head, String(buffer: try await response.body.collect(upTo: 1 << 24)))
    }

    /// The code that an exchange fails with; a finding when it does not, or with an error of
    /// another type.
    func failure(_ request: TransportRequest) async -> TransportError.Code? {
        do {
            let (head, body) = try await exchange(request)
            findings.add("it was answered: \(head.status.code), \(body.utf8.count) bytes")
        } catch let error as TransportError {
            return error.code
        } catch {
            findings.add("no 'TransportError' was thrown: \(error)")
        }
        return nil
    }
}
