import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// One enum of services, uploads, downloads, and root models.
@Suite(.timeLimit(.minutes(20))) struct ServiceEnumTests {
    private enum Services: Endpoint {
        case request(String, String, RequestParameters = [:], HTTPRequest.Method = .get)
        case upload(String, String, RequestParameters = [:], Multipart, HTTPRequest.Method = .put)
        case download(String, String, RequestParameters = [:], to: String)

        var baseURL: String {
            switch self {
            case .request(let url, _, _, _), .upload(let url, _, _, _, _), .download(let url, _, _, _): url
            }
        }
        var path: String {
            switch self {
            case .request(_, let path, _, _), .upload(_, let path, _, _, _), .download(_, let path, _, _): path
            }
        }
        var method: HTTPRequest.Method {
            switch self {
            case .request(_, _, _, let method), .upload(_, _, _, _, let method): method
            case .download: .get
            }
        }
        var task: HTTPTask {
            switch self {
            case .request(_, _, let parameters, .get): .query(parameters)
            case .request(_, _, let parameters, _): .json(parameters)
            case .upload(_, _, let parameters, let parts, _): .multipart(parts, parameters: parameters)
            case .download(_, _, let parameters, let file): .download(DownloadDestination(file), parameters: parameters)
            }
        }
    }

    private struct Upload: Decodable, Sendable {
        struct Part: Decodable, Sendable { var name: String, filename: String?, contentType: String?, bytes: Int }
        var parts: [Part]
        var query: [[String]]
    }
    private struct Page: Decodable, Sendable {
        var page: Int
        var list: [MomentsDetails.Moment]
    }

    // Files are uploaded by PUT or POST as multipart content with name, file name and media type;
    // the parameters are in the URL.
    @Test(arguments: [HTTPRequest.Method.put, .post]) func filesAreUploaded(method: HTTPRequest.Method) async throws {
        try await ClientFixture.run { fixture in
            let file = fixture.folder + "-upload.png"
            defer { try? FileManager.default.removeItem(atPath: file) }
            try Data(repeating: 7, count: 300_000).write(to: URL(fileURLWithPath: file))
            let parts: Multipart = [
                .text("Grüße", name: "title"), .file(file, name: "photo", fileName: "ü.png"),
                .data(Data("x".utf8), name: "note", fileName: "n.bin", contentType: "application/x-note"),
            ]
            let upload = Services.upload(
                fixture.origin.baseURL,
                "/upload/multipart",
                ["album": "a b", "n": 1],
                parts,
                method
            )
            let received = try await upload.on(fixture.client).map(Upload.self).fetch().value
            #expect(received.query.map { $0.joined(separator: "=") } == ["album=a b", "n=1"])
            #expect(received.parts.map(\.name) == ["title", "photo", "note"])
            #expect(received.parts.map(\.bytes) == ["Grüße".utf8.count, 300_000, 1])
            #expect(received.parts.map(\.contentType).dropFirst() == ["image/png", "application/x-note"])
            #expect(received.parts.last?.filename == "n.bin" && fixture.origin.requests.last?.method == method.rawValue)
        }
    }

    // A download is a GET to a destination; its parameters are optional.
    @Test func downloadIsAGetWithOptionalParameters() async throws {
        try await ScriptedClient.run { fixture in
            for (parameters, path) in [(RequestParameters(), "/f"), (["v": 2], "/f?v=2")] {
                let download = Services.download(ScriptedClient.url, "/f", parameters, to: "/nowhere/f")
                let request = try fixture.client.request(for: download)
                #expect(request.head.method == .get && request.head.path == path && request.body == nil)
            }
        }
    }

    // `validate()` returns the data when the code means success, and nil when the data is null.
    @Test func rootModelReturnsValidatedData() async throws {
        try await ClientFixture.run { fixture in
            let url = fixture.origin.baseURL
            func detail(_ kind: String) -> Call<MomentsDetails.Moment?> {
                Services.request(url, "/envelope/\(kind)").on(fixture.client).map(RootModel<MomentsDetails.Moment>.self)
                    .validate()
            }
            let moment = try await detail("object").fetch().value
            #expect(moment?.id == "harbour-25")
            #expect(try await detail("null").fetch().value == nil)
            #expect(try await detail("none").fetch().value == nil)
            #expect(try await detail("object?as=string").fetch().value?.id == "harbour-25")
        }
    }

    // Any other code is an error with the code and the message, or with their defaults when they
    // are missing.
    @Test func failureCarriesCodeAndMessageOrTheirDefaults() async throws {
        try await ClientFixture.run { fixture in
            let url = fixture.origin.baseURL
            func error(_ kind: String) async -> HoldfastError? {
                let call = Services.request(url, "/envelope/\(kind)").on(fixture.client).cache
                    .map(RootModel<MomentsDetails.Moment>.self).validate()
                return await failure { _ = try await call.fetch() }
            }
            let said = await error("failure?code=7&msg=No")
            #expect(said?.code == .envelope && said?.envelope?.code == 7 && said?.envelope?.message == "No")
            #expect(said?.status == .ok && said?.body?.isEmpty == false)
            let bare = await error("bare")
            #expect(bare?.envelope?.code == 1001 && bare?.envelope?.message == EnvelopeResult.defaultMessage)
        }
    }

    private struct Ruled: Decodable, Sendable, EnvelopeRule {
        var id: String
        static func isSuccess(_ code: AnyJSON) -> Bool { code.means(1001) }
        static var missingMessage: String { "nothing said" }
    }

    // A type can supply a rule of its own.
    @Test func typeSuppliesItsOwnRule() async throws {
        try await ClientFixture.run { fixture in
            let url = fixture.origin.baseURL
            let object = Services.request(url, "/envelope/object?code=1001").on(fixture.client).map(
                RootModel<Ruled>.self
            ).validate()
            let model = try await object.fetch().value
            #expect(model?.id == "harbour-25")
            let list = Services.request(url, "/envelope/array?code=1001").on(fixture.client).map(
                RootModel<[Ruled]>.self
            ).validate()
            #expect(try await list.fetch().value?.count == 10)
            let zero = Services.request(url, "/envelope/object").on(fixture.client).map(RootModel<Ruled>.self)
                .validate()
            await expect(.envelope) { _ = try await zero.fetch() }
        }
    }

    // The list is read by POST. It is stored, too, when the caller sets a lifetime.
    @Test func listReadByPostIsStoredOnRequest() async throws {
        try await ClientFixture.run { fixture in
            func page(_ number: Int) -> AnyRequest<RootModel<Page>> {
                AnyRequest(
                    baseURL: fixture.origin.baseURL,
                    path: "/envelope/list",
                    method: .post,
                    task: .json(["page": .init(number)]),
                    storage: .expiring(.after(.seconds(60)))
                )
            }
            for _ in 0..<2 {
                for number in 1...2 {
                    let model = try await fixture.client.call(page(number)).validate().fetch().value
                    #expect(model?.page == number && model?.list.isEmpty == false)
                }
            }
            #expect(fixture.origin.requestCount == 2)
            let unstored = Services.request(fixture.origin.baseURL, "/envelope/list", ["page": 2], .post)
            for _ in 0..<2 {
                _ = try await unstored.on(fixture.client).cache.map(RootModel<Page>.self).validate().fetch()
            }
            #expect(fixture.origin.requestCount == 4)
        }
    }
}
