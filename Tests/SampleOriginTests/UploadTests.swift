import Crypto
import Foundation
import Testing

@testable import SampleOrigin

@Suite(.timeLimit(.minutes(20))) struct UploadTests {
    private struct Form: Decodable, Equatable {
        struct Part: Decodable, Equatable {
            var name: String
            var filename: String?
            var contentType: String?
            var bytes: Int
            var sha256: String
        }
        let parts: [Part]
        let query: [[String]]
    }

    private static let formType = ("Content-Type", "multipart/form-data; boundary=\"a b'c\"")

    /// A form with text, a file that looks like a boundary, and an empty part.
    private static let file = Array("\r\n--a b\r\n\r\n--a b'\r\n".utf8) + DeterministicBytes().bytes(0..<70_000)
    private static let form =
        Array("--a b'c\r\nContent-Disposition: form-data; name=\"ti\\\"tle\"\r\n\r\nGrüße\r\n".utf8)
        + Array("--a b'c\r\ncontent-type: image/png\r\nX-Ignored: 1\r\n".utf8)
        + Array("CONTENT-DISPOSITION: Form-Data;name=file ; filename=\"ü%22.png\"\r\n\r\n".utf8) + file
        + Array("\r\n--a b'c\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n\r\n--a b'c--\r\n".utf8)

    @Test(arguments: ["PUT", "POST"])
    func rawUploadIsDescribed(method: String) async throws {
        let body = DeterministicBytes(seed: 5).bytes(0..<300_000)
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send(method, "/upload?a=1&a=%26", fields: [("Content-Type", "x/y")], body: body, to: $0)
        }
        #expect(response.status == 200)
        #expect(response["Cache-Control"] == "no-store")
        #expect(
            response.text
                == #"{"bytes":300000,"contentType":"x/y","query":[["a","1"],["a","&"]],"sha256":"\#(hex(body))"}"#
        )
    }

    @Test func chunkedUploadIsDescribed() async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send(
                raw: "POST /upload HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                to: $0
            )
        }
        #expect(response.text == #"{"bytes":5,"query":[],"sha256":"\#(hex(Array("abcde".utf8)))"}"#)
    }

    @Test func uploadBeyondTheLimitIsA413() async throws {
        try await SampleOrigin.withOrigin { origin in
            let whole = try await RawClient.send("PUT", "/upload?limit=3", body: "abc", to: origin)
            #expect(whole.status == 200)
            let announced = try await RawClient.send("PUT", "/upload?limit=2", body: "abc", to: origin)
            #expect(announced.status == 413)
            let chunked = try await RawClient.send(
                raw: "PUT /upload?limit=2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                to: origin
            )
            #expect(chunked.status == 413)
        }
    }

    @Test func formIsDescribedPartByPart() async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send(
                "POST",
                "/upload/multipart?album=1",
                fields: [Self.formType],
                body: Self.form,
                to: $0
            )
        }
        let text = Array("Grüße".utf8)
        #expect(response.status == 200)
        #expect(
            try JSONDecoder().decode(Form.self, from: Data(response.body))
                == Form(
                    parts: [
                        Form.Part(name: "ti\"tle", bytes: text.count, sha256: hex(text)),
                        Form.Part(
                            name: "file",
                            filename: "ü%22.png",
                            contentType: "image/png",
                            bytes: Self.file.count,
                            sha256: hex(Self.file)
                        ),
                        Form.Part(name: "", bytes: 0, sha256: hex([])),
                    ],
                    query: [["album", "1"]]
                )
        )
    }

    @Test(arguments: [1, 2, 3, 7, 64, 4_096])
    func formIsSameForAnyChunking(step: Int) throws {
        var parser = try #require(MultipartParser(contentType: Self.formType.1))
        var contents: [[UInt8]] = []
        for first in stride(from: 0, to: Self.form.count, by: step) {
            for event in try parser.feed(Self.form[first..<min(first + step, Self.form.count)]) {
                switch event {
                case .began: contents.append([])
                case .content(let bytes): contents[contents.count - 1] += bytes
                case .ended: break
                }
            }
        }
        try parser.finish()
        #expect(contents == [Array("Grüße".utf8), Self.file, []])
    }

    @Test(arguments: [
        "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a \"",
        "multipart/form-data; boundary=a; boundary=b", "multipart/form-data; boundary=\"a<b\"",
        "multipart/mixed; boundary=a",
        "multipart/form-data; boundary=\(String(repeating: "a", count: 71))", "multipart/form-data; boundary=\"a", "",
    ])
    func invalidBoundaryGets415(type: String) async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send("POST", "/upload/multipart", fields: [("Content-Type", type)], body: "x", to: $0)
        }
        #expect(response.status == 415)
    }

    @Test(arguments: [
        ("", "ends before"), ("--x--\r\n", "no part"), ("preamble\r\n--x\r\n", "does not begin"),
        ("--x\r\nContent-Disposition: form-data; name=a\r\n\r\nA", "ends before"),
        ("--x\r\nContent-Disposition: form-data; name=a\r\n\r\nA\r\n--x", "ends before"),
        ("--x\r\nContent-Disposition: form-data; name=a\r\n\r\nA\r\n--xy\r\n", "a part contains it"),
        ("--x \r\nContent-Disposition: form-data; name=a\r\n\r\nA\r\n--x--", "neither a line end"),
        ("--x\r\nContent-Disposition: form-data; name=a\r\n\r\nA\r\n--x--\r\nepilogue", "follows the closing"),
        ("--x\r\nContent-Disposition: form-data; name=a\n\nA\r\n--x--\r\n", "ends before"),
        ("--x\r\nContent-Type: text/plain\r\n\r\nA\r\n--x--\r\n", "no 'Content-Disposition: form-data' with a name"),
        ("--x\r\nContent-Disposition: form-data\r\n\r\nA\r\n--x--\r\n", "with a name"),
        ("--x\r\nContent-Disposition: attachment; name=a\r\n\r\nA\r\n--x--\r\n", "with a name"),
        ("--x\r\nContent-Disposition: form-data; name=\"a\r\n\r\nA\r\n--x--\r\n", "malformed"),
        ("--x\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\nA\r\n--x--\r\n", "malformed"),
        ("--x\r\nContent-Disposition: form-data; name=a; filename*=UTF-8''b\r\n\r\nA\r\n--x--\r\n", "filename*"),
        ("--x\r\nContent-Disposition: form-data; name=a\r\nContent-Type: png\r\n\r\nA\r\n--x--\r\n", "Content-Type is"),
        (
            "--x\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\nA\r\n--x--\r\n",
            "transfer encoding 'base64'"
        ),
        ("--x\r\nno field\r\n\r\nA\r\n--x--\r\n", "not a header field"),
        ("--x\r\nX: \(String(repeating: "a", count: 9_000))", "longer than"),
    ])
    func brokenFormGets400WithReason(body: String, reason: String) async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send(
                "POST",
                "/upload/multipart",
                fields: [("Content-Type", "multipart/form-data; boundary=x")],
                body: body,
                to: $0
            )
        }
        #expect(response.status == 400)
        #expect(response.text.contains(reason), "\(response.text)")
    }

    private func hex(_ bytes: [UInt8]) -> String { hexadecimal(SHA256.hash(data: bytes)) }
}
