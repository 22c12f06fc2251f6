import Foundation
import HTTPCache
import Holdfast
import HoldfastTesting
import Testing

/// Errors in texts for people, as applications show them.
@Suite(.timeLimit(.minutes(20))) struct LocalizedErrorTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The names of the codes that a source file declares.
    private static func codes(in file: String) throws -> [String] {
        let source = try String(contentsOf: root.appending(path: "Sources/\(file)"), encoding: .utf8)
        return source.matches(of: /public static let (\w+) = (?:HoldfastError\.)?Code\(/).map { String($0.1) }
    }

    @Test func eachCodeHasAReasonAndANextStep() throws {
        let names =
            try Self.codes(in: "HoldfastContent/HoldfastError.swift")
            + Self.codes(in: "HoldfastContent/GraphQL/HoldfastError+GraphQL.swift")
        #expect(names.count >= 26)
        for name in names {
            let error = HoldfastError(code: HoldfastError.Code(name), message: "Message.")
            #expect(error.errorDescription == "Message.")
            #expect(error.failureReason?.hasSuffix(".") == true, "\(name)")
            // Nothing is left to do for a caller that cancelled its own call.
            #expect(name == "cancelled" || error.recoverySuggestion?.hasSuffix(".") == true, "\(name)")
        }
        let own = HoldfastError(code: HoldfastError.Code("own"), message: "Message.")
        #expect(own.failureReason == nil && own.recoverySuggestion == nil)
    }

    @Test func eachCodeOfTheStoreHasAReason() throws {
        let codes: [StoreError.Code] = [
            .closed, .readOnly, .invalidConfiguration, .notAStore, .foreignDatabase, .newerSchema, .inUse, .unwritable,
            .damaged, .notEncodable, .tooLarge, .incomplete, .busy, .full, .io, .invalidKey, .invalidTag, .gone,
        ]
        #expect(Set(try Self.codes(in: "OfflineStore/StoreError.swift")) == Set(codes.map(\.description)))
        for code in codes {
            let error = StoreError(code: code, message: "Message.")
            #expect(error.errorDescription == "Message." && error.failureReason?.hasSuffix(".") == true, "\(code)")
        }
    }

    /// `localizedDescription` of an error whose type is not known. Without a conformance it would
    /// be "The operation could not be completed".
    @Test func unknownErrorsDescribeThemselves() async throws {
        let errors: [any Error] = [
            HoldfastError(code: .offlineMiss, message: "Nothing is stored."),
            StoreError(code: .closed, message: "The store is closed."),
            TransportError(code: .connect, message: "No connection."),
            ConfigurationError([ConfigurationError.Finding(line: 7, message: "'modes' is unknown.")]),
        ]
        for error in errors { #expect(error.localizedDescription == "\(error)") }
        #expect((LoginRequired() as any Error).localizedDescription == "The user is not logged in.")
        #expect((LoginRequired("The session ended.") as any Error).localizedDescription == "The session ended.")
        let bodies: [BodyStreamError] = [
            .alreadyRead, .tooLarge(limit: 7), .fellBehind, .truncated(expected: 9, received: 7),
        ]
        for error in bodies as [any Error] { #expect(!error.localizedDescription.contains("could not be completed")) }
        #expect((BodyStreamError.tooLarge(limit: 7) as any Error).localizedDescription.contains("7 bytes"))
        do {
            _ = try TargetURI("ftp://a.example/")
        } catch {
            #expect((error as any Error).localizedDescription == "\(error)")
        }
    }

    private struct Login: Endpoint {
        typealias Response = Int
        let path = "/login"
        var baseURL: String { ScriptedClient.url }
        var task: HTTPTask { .query(["token": "s3cret"]) }
        var headers: HTTPFields { [.authorization: "Bearer s3cret"] }
    }

    @Test(arguments: ["connect", "status", "content", "truncated", "offline"])
    func errorsOfCallsShowNoSecret(kind: String) async throws {
        try await ScriptedClient.run { fixture in
            let url = "\(ScriptedClient.url)/login?token=s3cret"
            switch kind {
            case "connect": fixture.transport.script(url, .failure(.connect))
            case "status": fixture.transport.script(url, .status(.forbidden, "s3cret"))
            case "content": fixture.transport.script(url, .ok("\"s3cret\""))
            case "truncated": fixture.transport.script(url, .ok("s3cret").truncated(after: 3))
            default: fixture.client.mode = .offline
            }
            do {
                _ = try await fixture.client.fetch(Login())
                Issue.record("The call succeeded.")
            } catch {
                let localized = try #require(error as? any LocalizedError)
                let texts = [
                    error.localizedDescription, localized.errorDescription, localized.failureReason,
                    localized.recoverySuggestion,
                ]
                for text in texts {
                    let text = try #require(text)
                    #expect(!text.isEmpty && !text.contains("s3cret"))
                }
                #expect(error.localizedDescription == (error as? HoldfastError)?.message)
            }
            guard kind == "connect" || kind == "offline" else { return }
            fixture.client.mode = .offline
            do {
                _ = try await fixture.client.respond(to: fixture.client.request(for: Login()))
            } catch {
                #expect(error is ExchangeError && error.localizedDescription == "\(error)")
            }
        }
    }
}
