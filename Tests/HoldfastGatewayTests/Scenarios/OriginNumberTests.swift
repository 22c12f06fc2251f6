import Foundation
import HTTPCache
import HoldfastTesting
import OfflineStore
import TestSupport
import Testing

@testable import HoldfastGateway

/// Each number that an origin states goes through the whole path: the decoder, the engine, the
/// store on disk, and the writers of both protocols. A trap ends the tests.
///
/// docs/attacks.md, 75. Mutant: a store that adds to a stated length before it compares it.
@Suite(.timeLimit(.minutes(20)))
struct OriginNumberTests {
    /// Where an origin states a number.
    enum Place: String, CaseIterable, Sendable {
        case contentLength, chunkSize, part, partOfUnknownLength, completeLength, firstByte, lastByte, unsatisfied
        case age, maxAge, sharedMaxAge, targetedMaxAge, staleWhileRevalidate, staleIfError, retryAfter
        case expires, date, lastModified
        case location, alternativeService, keepAlive, cacheStatus, status
    }

    private static func head(_ fields: String, status: String = "200 OK") -> String {
        "HTTP/1.1 \(status)\r\n\(fields)"
    }

    /// The response in which a number is stated.
    private static func response(_ place: Place, _ number: String) -> RawOrigin.Step {
        let fresh = "Cache-Control: max-age=60\r\n"
        let two = "Content-Length: 2\r\n\r\nxx"
        func part(_ range: String, _ rest: String = two) -> RawOrigin.Step {
            .respondAndClose(
                head("\(fresh)ETag: \"a\"\r\nContent-Range: bytes \(range)\r\n\(rest)", status: "206 Part")
            )
        }
        switch place {
        case .contentLength:
            let content = number == "0" ? "" : number == "1" ? "x" : "xx"
            return .respondAndClose(head("\(fresh)Content-Length: \(number)\r\n\r\n\(content)"))
        case .chunkSize:
            let end = number == "0" ? "\r\n" : number == "1" ? "x\r\n0\r\n\r\n" : "xx"
            return .respondAndClose(head("\(fresh)Transfer-Encoding: chunked\r\n\r\n\(number)\r\n\(end)"))
        case .part: return part("0-\(number)/*", "Content-Length: \(successor(number))\r\n\r\nxx")
        case .partOfUnknownLength:
            return part("0-\(number)/*", "Transfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n")
        case .completeLength: return part("0-1/\(number)")
        case .firstByte: return part("\(number)-\(successor(number))/*")
        case .lastByte: return part("0-\(number)/*")
        case .unsatisfied: return .response(head("Content-Range: bytes */\(number)\r\n\(two)", status: "416 No"))
        case .age: return .response(head("\(fresh)Age: \(number)\r\n\(two)"))
        case .maxAge: return .response(head("Cache-Control: max-age=\(number)\r\n\(two)"))
        case .sharedMaxAge: return .response(head("Cache-Control: s-maxage=\(number)\r\n\(two)"))
        case .targetedMaxAge: return .response(head("CDN-Cache-Control: max-age=\(number)\r\n\(two)"))
        case .staleWhileRevalidate:
            return .response(head("Cache-Control: max-age=0, stale-while-revalidate=\(number)\r\n\(two)"))
        case .staleIfError: return .response(head("Cache-Control: max-age=60, stale-if-error=\(number)\r\n\(two)"))
        case .retryAfter: return .response(head("Retry-After: \(number)\r\n\(two)", status: "503 No"))
        case .expires: return .response(head("Expires: \(number)\r\n\(two)"))
        case .date: return .response(head("Date: \(number)\r\n\(fresh)\(two)"))
        case .lastModified: return .response(head("Last-Modified: \(number)\r\n\(two)"))
        case .location:
            return .response(head("\(fresh)Location: http://127.0.0.1:\(number)/x\r\n\(two)", status: "302 Found"))
        case .alternativeService: return .response(head("\(fresh)Alt-Svc: h2=\":\(number)\"; ma=\(number)\r\n\(two)"))
        case .keepAlive: return .response(head("\(fresh)Keep-Alive: timeout=\(number), max=\(number)\r\n\(two)"))
        case .cacheStatus: return .response(head("\(fresh)Cache-Status: other; hit; ttl=\(number)\r\n\(two)"))
        case .status: return .respondAndClose(head("\(fresh)\(two)", status: number))
        }
    }

    /// The next number, in decimal.
    private static func successor(_ number: String) -> String {
        UInt64(number).map { $0 == .max ? "18446744073709551616" : "\($0 + 1)" } ?? "18446744073709551617"
    }

    private static func numbers(_ place: Place) -> [String] {
        switch place {
        case .chunkSize: StatedNumbers.hexadecimal
        case .expires, .date, .lastModified: StatedNumbers.dates
        default: StatedNumbers.all
        }
    }

    /// Whether the response is complete, so that the second request is a hit; `nil`: that depends
    /// on more than the number.
    private static func isStored(_ place: Place, _ number: String) -> Bool? {
        let isSmall = number == "0" || number == "1"
        switch place {
        case .contentLength, .chunkSize: return isSmall
        case .part: return isSmall ? nil : false
        case .age: return isSmall
        case .maxAge, .sharedMaxAge: return number != "0"
        case .location, .alternativeService, .keepAlive, .cacheStatus, .staleIfError: return true
        case .unsatisfied, .retryAfter, .status: return false
        default: return nil
        }
    }

    /// The status that a client gets; `nil`: any.
    private static func status(_ place: Place, _ number: String) -> Int? {
        switch place {
        case .contentLength: StatedNumbers.fits(number) ? 200 : 502
        case .part: StatedNumbers.fits(successor(number)) ? 206 : 502
        case .partOfUnknownLength, .completeLength, .firstByte, .lastByte: 206
        case .unsatisfied: 416
        case .retryAfter: 503
        case .location: 302
        case .status: 502
        // A size that is no number, in the same bytes as the head.
        case .chunkSize: nil
        default: 200
        }
    }

    /// Whether the content is shorter than the number states.
    private static func isCutShort(_ place: Place, _ number: String) -> Bool {
        let isSmall = number == "0" || number == "1"
        return !isSmall && [.contentLength, .chunkSize, .part].contains(place)
    }

    private static func isPart(_ place: Place) -> Bool {
        switch place {
        case .part, .partOfUnknownLength, .completeLength, .firstByte, .lastByte, .unsatisfied: true
        default: false
        }
    }

    /// A gateway with a store on disk, before an origin that makes of each target the response of a
    /// place with a number.
    private static func withGateway(_ body: (RunningGateway, RawOrigin, CacheManager) async throws -> Void) async throws
    {
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.store)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let parts = request.target.split(separator: "/").map { String($0) }
            guard parts.count == 3, let place = Place(rawValue: parts[0]), let index = Int(parts[1]) else {
                return .ok("alive")
            }
            return Self.response(place, Self.numbers(place)[index])
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url, wrapping: { _ in store.responses }) { gateway in
                try await body(gateway, origin, store)
                #expect(try await gateway.get("/alive").text == "alive")
            }
        }
        try await store.close()
    }

    @Test(arguments: Place.allCases)
    func passesOrIsRefusedWithoutATrap(_ place: Place) async throws {
        try await Self.withGateway { gateway, origin, store in
            for (index, number) in Self.numbers(place).enumerated() {
                let target = "/\(place.rawValue)/\(index)/1"
                let fields = Self.isPart(place) ? "Range: bytes=0-1\r\n" : ""
                for _ in 0..<2 {
                    // A connection that is reset before the head came is not a clean end either.
                    guard let response = try? await gateway.get(target, fields: fields) else {
                        #expect(Self.isCutShort(place, number), "\(place) \(number)")
                        continue
                    }
                    if Self.isCutShort(place, number) {
                        #expect(!response.isComplete || response.status == 502, "\(place) \(number)")
                    } else if let status = Self.status(place, number) {
                        #expect(response.status == status, "\(place) \(number)")
                    }
                }
                guard let isStored = Self.isStored(place, number) else { continue }
                let last = try? await gateway.get(target, fields: fields)
                let isHit = last?["Cache-Status"]?.contains("; hit") == true
                #expect(isHit == isStored, "\(place) \(number)")
                if isStored { #expect(origin.requests.count { $0.target == target } == 1, "\(place) \(number)") }
            }
            // A stored length is that of the bytes on disk, whatever was stated.
            let statistics = try await store.statistics()
            #expect(statistics.storedBytes < 4 << 20)
        }
    }

    @Test(arguments: Place.allCases)
    func passesOverHTTP2(_ place: Place) async throws {
        try await Self.withGateway { gateway, _, _ in
            for (index, number) in Self.numbers(place).enumerated() {
                try await RawClient.with(port: gateway.port) { raw in
                    let client = FrameClient(raw)
                    try await client.send(FrameClient.beginning())
                    let fields = Self.isPart(place) ? [("range", "bytes=0-1")] : []
                    try await client.send(FrameClient.get("/\(place.rawValue)/\(index)/2", on: 1, fields: fields))
                    let response = try #require(try await client.responses([1])[1])
                    if Self.isCutShort(place, number) {
                        // It does not look complete.
                        #expect(response.status == 502 || response.reset != nil, "\(place) \(number)")
                    } else if let status = Self.status(place, number) {
                        #expect(response.status == status, "\(place) \(number)")
                    }
                }
            }
        }
    }

    /// A stored part and a new one whose stated lengths add up.
    @Test(arguments: StatedNumbers.all)
    func combinesPartsOfAnyLength(_ number: String) async throws {
        let fields = "Cache-Control: max-age=60\r\nETag: \"a\"\r\n"
        func part(_ range: String, _ length: String, _ content: String) -> RawOrigin.Step {
            .respondAndClose(
                Self.head(
                    "\(fields)Content-Range: bytes \(range)\r\nContent-Length: \(length)\r\n\r\n\(content)",
                    status: "206 Part"
                )
            )
        }
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.store)
        let length = UInt64(number).flatMap { $0 > 1 ? "\($0 - 1)" : nil } ?? number
        let steps = [
            part("0-1/*", "2", "ab"), part("2-\(number)/*", length, "cd"), part("1-\(number)/*", number, "bc"),
        ]
        try await RawOrigin.with(steps, respond: { _ in .ok("alive") }) { origin in
            try await RunningGateway.with(origin: origin.url, wrapping: { _ in store.responses }) { gateway in
                #expect(try await gateway.get("/x", fields: "Range: bytes=0-1\r\n").text == "ab")
                for range in ["2-", "1-"] { _ = try await gateway.get("/x", fields: "Range: bytes=\(range)\r\n") }
                // The stored part is as it was, and serves what it holds.
                #expect(try await gateway.get("/x", fields: "Range: bytes=0-1\r\n").text == "ab")
                #expect(try await gateway.get("/alive").text == "alive")
            }
        }
        try await store.close()
    }

    /// A HEAD that describes another length invalidates, and traps at none.
    @Test func headsStateAnyLength() async throws {
        try await Self.withGateway { gateway, origin, _ in
            for (index, number) in StatedNumbers.all.enumerated() {
                let target = "/maxAge/3/\(index)"
                _ = try await gateway.get(target)
                origin.script(.response(Self.head("Content-Length: \(number)\r\n\r\n")))
                let fields = "Host: gateway.example\r\nCache-Control: no-cache\r\n\r\n"
                let response = try await gateway.send("HEAD \(target) HTTP/1.1\r\n\(fields)")
                #expect(response.status == (StatedNumbers.fits(number) ? 200 : 502), "\(number)")
                #expect(try await gateway.get(target).status == 200, "\(number)")
            }
        }
    }
}
