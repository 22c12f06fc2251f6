import Foundation
import HoldfastTesting
import SampleOrigin
import Testing

@testable import Holdfast

/// A response that was readable offline before a bad response is readable after it, for every kind
/// of call.
@Suite(.timeLimit(.minutes(20))) struct GoodDataTests {
    struct Note: Decodable, Sendable, Equatable { var id: Int, text: String }

    /// The ways in which the API wraps its content.
    enum Wrapping: CaseIterable { case none, envelope, graphQL }

    struct NoteEndpoint: Endpoint {
        typealias Response = Note
        var baseURL = ScriptedClient.url
        var path: String
        var wrapping = Wrapping.none
        var method: HTTPRequest.Method { wrapping == .graphQL ? .post : .get }
        var task: HTTPTask {
            wrapping == .graphQL ? .graphQL(GraphQLOperation("query Note { id text }")) : .plain
        }
        var envelope: EnvelopeChoice { wrapping == .envelope ? .custom(Envelope()) : .none }
        var valuePath: ValuePath { wrapping == .graphQL ? "data" : ValuePath() }
        var storage: CacheRequest.Storage { wrapping == .graphQL ? .expiring(.after(.seconds(60))) : .byResponse }

        func content(_ note: Note) -> String {
            let note = #"{"id":\#(note.id),"text":"\#(note.text)"}"#
            switch wrapping {
            case .none: return note
            case .envelope: return #"{"code":0,"data":\#(note)}"#
            case .graphQL: return #"{"data":\#(note)}"#
            }
        }
    }

    /// The content that an origin, or a proxy before it, sends instead of a note.
    struct Bad: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var status = HTTPResponse.Status.ok
        var content: String
        var type: String? = "application/json"
        var coding: String?
        var vary: String?
        /// The wrapping in which the content is bad; `nil` if it is bad in all of them.
        var wrapping: Wrapping?

        static let all = [
            Bad(testDescription: "a page", content: "<html>Sign in</html>", type: "text/html; charset=utf-8"),
            Bad(testDescription: "a page as JSON", content: "<html>Sign in</html>"),
            Bad(testDescription: "another shape", content: #"{"error":"try again"}"#),
            Bad(testDescription: "a list", content: "[]"),
            Bad(testDescription: "nothing", content: ""),
            Bad(testDescription: "nothing, untyped", content: "", type: nil),
            Bad(testDescription: "half of it", content: #"{"id":7,"te"#),
            Bad(testDescription: "a failed envelope", content: #"{"code":9,"msg":"No.","data":null}"#),
            Bad(testDescription: "a failure with a note", content: #"{"code":9,"data":{"id":8,"text":7},"id":"8"}"#),
            Bad(testDescription: "GraphQL errors", content: #"{"data":null,"errors":[{"message":"No."}]}"#),
            Bad(
                testDescription: "a failed envelope with a note",
                content: #"{"code":9,"data":{"id":8,"text":"8"}}"#,
                wrapping: .envelope
            ),
            Bad(
                testDescription: "a note with GraphQL errors",
                content: #"{"data":{"id":8,"text":"8"},"errors":[{"message":"No."}]}"#,
                wrapping: .graphQL
            ),
            Bad(testDescription: "text", content: "internal error", type: "text/plain"),
            Bad(testDescription: "204", status: .noContent, content: "", type: nil),
            Bad(testDescription: "301", status: .movedPermanently, content: "moved", type: "text/html"),
            Bad(testDescription: "what is no gzip", content: "no gzip at all", coding: "gzip"),
            Bad(testDescription: "an unknown coding", content: "????", coding: "br"),
            Bad(testDescription: "a page for other languages", content: "<html>", vary: "accept-language"),
        ]

        /// True if more than the decoded content shows that it is bad.
        var isBadAsBytes: Bool {
            status == .movedPermanently || coding != nil || type?.hasPrefix("text/html") == true
                || (status == .ok && content.isEmpty)
        }

        func reply(isAnnounced: Bool) -> ScriptedTransport.Reply {
            var fields: HTTPFields = [.cacheControl: "max-age=600"]
            fields[.contentType] = type
            fields[.contentEncoding] = coding
            fields[.vary] = vary
            if isAnnounced, status != .noContent { fields[.contentLength] = "\(content.utf8.count)" }
            return .status(status, content, fields: fields)
        }
    }

    /// A way to request a note.
    enum CallKind: CaseIterable {
        case standard, storedFirst, staleWhileRevalidate, networkFirst, networkFirstInTime, networkOnly
        case startWith, startWithQuietly, onCache, chain, mappedChain, validatedChain, ownDecoder, thirty

        func ask(_ client: CachingClient, _ endpoint: NoteEndpoint) async {
            switch self {
            case .standard: _ = try? await client.fetch(endpoint)
            case .storedFirst: _ = try? await client.fetch(endpoint, .storedFirst)
            case .staleWhileRevalidate:
                _ = try? await client.fetch(endpoint, .staleWhileRevalidate)
                while client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            case .networkFirst: _ = try? await client.fetch(endpoint, .networkFirst)
            case .networkFirstInTime:
                _ = try? await client.fetch(endpoint, .networkFirst(timeout: .seconds(3600)))
            case .networkOnly: _ = try? await client.fetch(endpoint, .networkOnly)
            case .startWith: _ = await client.startWith(endpoint).collected()
            case .startWithQuietly: _ = await client.startWith(endpoint, ifNetworkFails: .endingQuietly).collected()
            case .onCache: _ = await client.onCache(endpoint) { _ in }.request().collected()
            case .chain: _ = try? await endpoint.cache.on(client).fetch(.networkFirst)
            case .mappedChain:
                let call = endpoint.cache.map(Note.self).map { "\($0.id)" }.compactMap { Int($0) }
                _ = await call.on(client).request().collected()
            case .validatedChain:
                let call = client.call(endpoint).validate { content in _ = try content.decode(Note.self) }
                _ = try? await call.fetch(.networkFirst)
            case .ownDecoder:
                _ = try? await client.call(endpoint).decoding(with: JSONDecoder()).fetch(.networkFirst)
            case .thirty:
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<30 { group.addTask { _ = try? await client.fetch(endpoint, .networkFirst) } }
                }
            }
        }
    }

    /// Requests notes that are stored already and come back bad, in every way. All of them are
    /// readable offline afterwards.
    @Test(arguments: CallKind.allCases, Wrapping.allCases)
    func badResponseKeepsStoredValuesReadableOffline(kind: CallKind, wrapping: Wrapping) async throws {
        try await ScriptedClient.run { fixture in
            let client = fixture.client
            for (index, bad) in Bad.all.enumerated() where bad.wrapping ?? wrapping == wrapping {
                for isAnnounced in [true, false] {
                    let endpoint = NoteEndpoint(path: "/\(index)/\(isAnnounced)", wrapping: wrapping)
                    let note = Note(id: index, text: "good")
                    fixture.transport.script(
                        ScriptedClient.url + endpoint.path,
                        .ok(
                            endpoint.content(note),
                            fields: [.cacheControl: "max-age=60", .contentType: "application/json"]
                        )
                    )
                    let value = try await client.fetch(endpoint).value
                    #expect(value == note)
                    fixture.clock.advance(by: .seconds(61))
                    fixture.transport.script(
                        ScriptedClient.url + endpoint.path,
                        repeating: bad.reply(isAnnounced: isAnnounced)
                    )
                    await kind.ask(client, endpoint)
                    client.mode = .offline
                    let offline = try? await client.fetch(endpoint)
                    #expect(offline?.value == note, "\(bad.testDescription), announced: \(isAnnounced)")
                    client.mode = .automatic
                }
            }
        }
    }

    /// Content that is not decoded: only its head and its length can show that it is bad.
    @Test(arguments: [SingleValueStrategy.standard, .storedFirst, .staleWhileRevalidate, .networkFirst, .networkOnly])
    func badBytesKeepStoredValuesReadableOffline(strategy: SingleValueStrategy) async throws {
        try await ScriptedClient.run { fixture in
            let client = fixture.client
            for (index, bad) in Bad.all.enumerated() where bad.isBadAsBytes {
                for isAnnounced in [true, false] {
                    let endpoint = fixture.get("/\(index)/\(isAnnounced)")
                    fixture.script(
                        endpoint.path,
                        .ok("good", fields: [.cacheControl: "max-age=60", .contentType: "text/plain"])
                    )
                    let good = try await client.fetch(endpoint).value
                    fixture.clock.advance(by: .seconds(61))
                    fixture.transport.script(
                        ScriptedClient.url + endpoint.path,
                        repeating: bad.reply(isAnnounced: isAnnounced)
                    )
                    _ = try? await client.fetch(endpoint, strategy)
                    _ = try? await client.fetch(endpoint, as: Data.self, strategy)
                    _ = await client.startWith(endpoint).collected()
                    while client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
                    client.mode = .offline
                    let offline = try? await client.fetch(endpoint)
                    #expect(offline?.value == good, "\(bad.testDescription), announced: \(isAnnounced)")
                    client.mode = .automatic
                }
            }
        }
    }

    /// The same over sockets, with the framing that a server chooses.
    @Test(arguments: [SingleValueStrategy.standard, .networkFirst, .networkOnly])
    func badBytesOverSocketsKeepStoredValuesReadableOffline(strategy: SingleValueStrategy) async throws {
        try await ClientFixture.run { fixture in
            let good = try await fixture.client.fetch(fixture.feed).value
            let bodies = [
                ("text/html", "<html>Sign in</html>"), ("application/json", "{}"), ("application/json", ""),
                ("application/json", #"{"userDetails":"#),
            ]
            for (type, body) in bodies {
                for framing in [[], [("Transfer-Encoding", "chunked")]] {
                    fixture.clock.advance(by: .seconds(61))
                    fixture.origin.force(
                        .respond(
                            fields: [("Cache-Control", "max-age=600"), ("Content-Type", type)] + framing,
                            body: body
                        )
                    )
                    let emission = try? await fixture.client.fetch(fixture.feed, strategy)
                    #expect(strategy == .networkOnly ? emission == nil : emission?.value == good)
                    fixture.client.mode = .offline
                    #expect(try await fixture.client.fetch(fixture.feed).value == good)
                    fixture.client.mode = .automatic
                }
            }
        }
    }
}
