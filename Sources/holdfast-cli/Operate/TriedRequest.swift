import AsyncHTTPClient
import CommandLineSupport
import Foundation
import HTTPCacheExplaining
import HTTPCacheSemantics
import HTTPTypes
import Holdfast
import NIOCore
import NIOHTTP1

/// A request to a gateway, and the response to it.
struct TriedRequest: Encodable, Sendable {
    var status: Int
    var bytes: Int
    var milliseconds: Int64
    /// How the content ended, if it was cut short: `ended after 3 of 1000 bytes`.
    var ending: String?
    /// The `Cache-Status` field.
    var cacheStatus: String?
    /// The gateway's own error; `nil` for a response of the origin or the store.
    var problem: Problem?

    /// The part of a problem (RFC 9457) that is shown.
    struct Problem: Codable, Sendable {
        var type: String
        var detail: String

        /// The code, such as `no-route`.
        var code: String { String(type.dropFirst(Self.prefix.count)) }

        fileprivate static let prefix = "urn:holdfast:problem:"
    }

    /// Whether the response came from the store.
    var isHit: Bool
    var isStored: Bool
    /// Whether the origin confirmed a stored response, which was then served.
    var isConfirmed: Bool
    /// Whether the request's own fields prevented a hit.
    var isForwardedForItsFields: Bool
    /// Whether a route with 'respond' made the response.
    var isFixed: Bool
    /// Whether the mode forbade asking the origin, so that its last failure is not the cause.
    var isKeptFromOrigin: Bool
    /// The URL to which the response redirects; `nil` if it does not.
    var redirect: TargetURI?
    /// Whether the response sets cookies, so that the next request may get another response.
    var setsCookies: Bool
    /// The milliseconds by which its 'Date' is before this machine's clock; `nil` if it has none.
    var dateLag: Int64?

    /// Why a new response is old when it arrives, if its 'Date' says so; `nil` if it does not.
    var oldDate: String? {
        guard let dateLag, dateLag >= Self.toleratedLag else { return nil }
        let lag = Words.duration(dateLag)
        return
            "The 'Date' of the response is \(lag) before this machine's clock, so the response is \(lag) old when it arrives. Check the clocks of the origin and of this machine, and whether another cache responds."
    }

    private enum CodingKeys: String, CodingKey { case status, bytes, milliseconds, ending, cacheStatus, problem }

    /// RFC 9110 §15.4
    private static let redirects: Set<Int> = [301, 302, 303, 307, 308]
    private static let timeLimit = TimeAmount.seconds(60)
    private static let problemLimit = 64 << 10
    /// In milliseconds.
    private static let toleratedLag: Int64 = 60_000

    /// Sends several requests for one target, one after another.
    ///
    /// - Parameters:
    ///   - fields: fields of each request.
    ///   - address: the gateway's address.
    /// - Throws: `CommandFailure`
    static func send(
        _ count: Int,
        to target: TargetURI,
        _ fields: HTTPFields,
        at address: TriedAddress
    ) async throws -> [TriedRequest] {
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: try address.clientConfiguration(for: target)
        )
        do {
            var requests: [TriedRequest] = []
            for _ in 0..<count { requests.append(try await send(to: target, fields, at: address, by: client)) }
            try? await client.shutdown()
            return requests
        } catch {
            try? await client.shutdown()
            if error is CommandFailure { throw error }
            throw CommandFailure("The gateway on '\(address)' did not respond: \(error). Check its log.")
        }
    }

    private static func send(
        to target: TargetURI,
        _ fields: HTTPFields,
        at address: TriedAddress,
        by client: HTTPClient
    ) async throws -> Self {
        let start = ContinuousClock.now
        var request = HTTPClientRequest(url: try address.url(of: target))
        request.headers.add(name: "Host", value: target.authority)
        for field in fields { request.headers.add(name: field.name.rawName, value: field.value) }
        let response = try await client.execute(request, timeout: timeLimit)
        let isProblem = response.headers.first(name: "Content-Type") == "application/problem+json"
        var (bytes, json, isComplete) = (0, ByteBuffer(), true)
        do {
            for try await chunk in response.body {
                bytes += chunk.readableBytes
                if isProblem, bytes <= problemLimit { json.writeImmutableBuffer(chunk) }
            }
        } catch {
            if error as? HTTPClientError == .deadlineExceeded { throw error }
            // The gateway passes on that the origin ended its response early.
            isComplete = false
        }
        let length = ContinuousClock.now - start
        var tried = TriedRequest(response, to: target, bytes: bytes, milliseconds: Int64(length / .milliseconds(1)))
        if !isComplete {
            let length = response.headers.first(name: "Content-Length").map { " of \($0)" } ?? ""
            tried.ending = "ended after \(bytes)\(length) bytes"
            tried.isStored = false
        }
        let problem = isProblem ? try? JSONDecoder().decode(Problem.self, from: Data(json.readableBytesView)) : nil
        // An origin may send problems too.
        if let problem, problem.type.hasPrefix(Problem.prefix) { tried.problem = problem }
        return tried
    }

    private init(_ response: HTTPClientResponse, to target: TargetURI, bytes: Int, milliseconds: Int64) {
        var fields = HTTPFields()
        for (name, value) in response.headers {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        // The gateway is the last cache that handled the response.
        let member = CacheStatus(fields).members.last
        status = Int(response.status.code)
        self.bytes = bytes
        self.milliseconds = milliseconds
        cacheStatus = response.headers.first(name: "Cache-Status")
        isHit = member?.isHit == true
        isStored = member?.isStored == true
        isConfirmed = member?.forwardStatus == 304 && status != 304
        isForwardedForItsFields = member?.forwardReason == .request
        isFixed = member?.detail == "respond"
        isKeptFromOrigin = member?.detail == "offline"
        setsCookies = fields.contains(.setCookie)
        if Self.redirects.contains(status), let location = fields[.location] {
            redirect = TargetURI(reference: location.utf8, relativeTo: target)
        }
        let now = SystemWallClock().now()
        dateLag = response.headers.first(name: "Date").flatMap { HTTPDate.parse($0, reference: now) }
            .map { now.milliseconds(since: $0) }
    }
}
