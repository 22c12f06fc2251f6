import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore

/// The origins. They have the current state, handle conditions and ranges correctly, and misbehave
/// as often as configured.
final class SimulatedOrigin: Transport, @unchecked Sendable {
    // Unchecked: see ``World``.

    private let world: World
    private var generator: SeededRandom
    private(set) var waiting: [String: Int] = [:]
    private(set) var openBodies = 0
    weak var engine: CacheEngine?
    /// ``CacheEngine/settingsVersion`` when all tasks waited in mode `offline`; `nil` in another
    /// mode.
    var offlineVersion: UInt64?

    init(_ world: World, _ generator: SeededRandom) {
        self.world = world
        self.generator = generator
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let path = request.head.path, let host = request.head.authority,
            let resource = world.resources.firstIndex(where: { $0.path == path && $0.host == host })
        else {
            // If nothing else failed, the engine probes an origin's return at its root.
            return try await probed(request)
        }
        let entry = OriginEntry(
            number: world.log.count,
            call: request.head.headerFields[.call].flatMap { Int($0) } ?? -1,
            resource: resource,
            host: host,
            method: request.head.method,
            request: request.head.headerFields,
            arrivedTick: world.nextTick(),
            arrivedAt: world.now,
            arrivedAfter: world.elapsed
        )
        world.log.append(entry)
        world.arrived(entry)
        waiting[host, default: 0] += 1
        defer { waiting[host, default: 0] -= 1 }
        if waiting[host, default: 0] > world.optionsInForce.map(\.inFlightLimit).max() ?? 0 {
            world.violations.append(
                "origin \(host) has \(waiting[host] ?? 0) requests under way, entry \(entry.number)"
            )
        }
        if let body = request.body { for try await _ in body {} }
        do {
            let response = try await serve(entry, request.head)
            entry.fate = .responded
            entry.fateTick = world.nextTick()
            entry.fateAt = world.now
            entry.endedAfter = world.elapsed
            entry.status = response.head.status.code
            entry.fields = response.head.headerFields
            return response
        } catch {
            entry.fate = error is CancellationError ? .cancelled : .unreachable
            entry.fateTick = world.nextTick()
            entry.fateAt = world.now
            entry.endedAfter = world.elapsed
            throw error
        }
    }

    private func probed(_ request: TransportRequest) async throws -> TransportResponse {
        if let offlineVersion, offlineVersion == engine?.settingsVersion {
            world.violations.append("a probe opened a socket in mode offline")
        }
        if world.unreachable.contains(request.head.authority ?? "") {
            throw TransportError(code: .connect, message: "The origin is unreachable.")
        }
        return TransportResponse(head: HTTPResponse(status: .notFound), body: .empty)
    }

    private func fault(_ share: Double = 1) -> Bool {
        !world.isCalm && generator.chance(world.configuration.originFaults * share)
    }

    private func serve(_ entry: OriginEntry, _ request: HTTPRequest) async throws -> TransportResponse {
        for _ in 0..<generator.int(0...2) { await SerialThread.yield() }
        if world.unreachable.contains(entry.host) {
            throw TransportError(code: .connect, message: "The origin is unreachable.")
        }
        if fault(0.3) {
            let code = generator.pick([
                TransportError.Code.connect, .connectionClosed, .timeout, .nameResolution, .protocolViolation, .tls,
            ])
            throw TransportError(code: code, message: "By chance: \(code).")
        }
        let response = respond(to: request, entry)
        if let gate = world.held[entry.resource] { try await gate.wait() }
        if !world.isCalm, generator.chance(world.configuration.slowness) {
            try await world.durations.sleep(for: .milliseconds(generator.int(10...8000)))
        } else if fault(0.1) {
            // Longer than any caller waits.
            try await world.durations.sleep(for: .seconds(1000))
        }
        try Task.checkCancellation()
        return response
    }

    // MARK: Responses

    private func respond(to request: HTTPRequest, _ entry: OriginEntry) -> TransportResponse {
        if !request.method.isSafeByName { return changed(request, entry) }
        let resource = world.resources[entry.resource]
        var representation = resource.representation(for: request.headerFields)
        // Each response that must not be stored has its own bytes, so that one that is served again
        // is found. One that may be stored has the bytes that its validators promise.
        if Rules(resource.cacheControl).forbidsStorage { representation.serial = entry.number + 1 }
        entry.representation = representation
        entry.varies = resource.varies
        if fault(0.5) { return error(entry) }
        var fields = describe(resource, representation, entry)
        if resource.status == 200, isNotModified(request.headerFields, resource, representation) {
            return notModified(fields, resource, entry)
        }
        if fault(0.15), request.headerFields.contains(.ifNoneMatch) {
            entry.isWrong = true
            return notModified(fields, resource, entry)
        }
        fields[.brought] = "\(entry.number)"
        if world.options.goodDataGuard != nil, fault(0.3) {
            // A captive portal.
            fields[.contentType] = "text/html"
        }
        if request.method == .head {
            entry.kind = .head
            fields[.brought] = nil
            if resource.announcesLength { fields[.contentLength] = "\(representation.length)" }
            return TransportResponse(
                head: HTTPResponse(status: .init(code: resource.status), headerFields: fields),
                body: .empty
            )
        }
        let bytes = world.bytes(of: representation)
        if resource.takesRanges, resource.status == 200, let range = request.headerFields[.range],
            ifRangeHolds(request.headerFields, resource, representation)
        {
            if let range = SimulatedRange(range)?.resolved(representation.length) {
                entry.kind = .part
                fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(representation.length)"
                let part = bytes.getSlice(at: range.lowerBound, length: range.count) ?? ByteBuffer()
                return response(206, fields, part, resource.announcesLength, entry)
            }
            if SimulatedRange(range) != nil {
                entry.kind = .error
                fields[.brought] = nil
                return TransportResponse(
                    head: HTTPResponse(
                        status: .rangeNotSatisfiable,
                        headerFields: [.sent: "\(entry.number)", .contentRange: "bytes */\(representation.length)"]
                    ),
                    body: .empty
                )
            }
        }
        return response(resource.status, fields, bytes, resource.announcesLength, entry)
    }

    private func describe(_ resource: Resource, _ representation: Representation, _ entry: OriginEntry) -> HTTPFields {
        var fields: HTTPFields = [.sent: "\(entry.number)", .contentType: "application/octet-stream"]
        let second = world.now / 1000
        if resource.hasDate {
            entry.date = second
            fields[.date] = world.text(second)
        }
        if let policy = resource.cacheControl { fields[.cacheControl] = policy }
        if let policy = resource.targeted { fields[.targeted] = policy }
        if let expires = resource.expires { fields[.expires] = world.text(second + expires) }
        if let age = resource.age { fields[.age] = "\(age)" }
        if let tag = resource.entityTag(representation) { fields[.eTag] = tag }
        if let modified = resource.lastModified { fields[.lastModified] = world.text(modified) }
        if resource.varies { fields[.vary] = "Accept-Language" }
        if !resource.groups.isEmpty { fields[.groups] = resource.groups.map { "\"\($0)\"" }.joined(separator: ", ") }
        if resource.setsCookie { fields[.setCookie] = "a=\(entry.number)" }
        fields[.qualified] = "\(entry.number)"
        return fields
    }

    private func notModified(_ fields: HTTPFields, _ resource: Resource, _ entry: OriginEntry) -> TransportResponse {
        entry.kind = .notModified
        var fields = fields
        fields[.contentType] = nil
        if generator.chance(0.1) {
            for name in [HTTPField.Name.cacheControl, .targeted, .expires] { fields[name] = nil }
        }
        return TransportResponse(head: HTTPResponse(status: .notModified, headerFields: fields), body: .empty)
    }

    private func error(_ entry: OriginEntry) -> TransportResponse {
        entry.kind = .error
        let status = generator.pick([500, 502, 503, 503, 504, 429])
        entry.representation = Representation(
            resource: entry.resource,
            version: 0,
            variant: "",
            serial: entry.number + 1,
            status: status,
            length: generator.int(0...50)
        )
        var fields: HTTPFields = [.sent: "\(entry.number)", .brought: "\(entry.number)"]
        entry.date = world.now / 1000
        fields[.date] = world.text(world.now / 1000)
        if generator.chance(0.3) { fields[.cacheControl] = "max-age=30" }
        return response(status, fields, entry.representation.map(world.bytes) ?? ByteBuffer(), true, entry)
    }

    /// An unsafe method succeeds, or does not.
    private func changed(_ request: HTTPRequest, _ entry: OriginEntry) -> TransportResponse {
        entry.kind = .change
        if fault() { return error(entry) }
        var fields: HTTPFields = [.sent: "\(entry.number)"]
        if generator.chance(0.15) {
            return TransportResponse(head: HTTPResponse(status: .conflict, headerFields: fields), body: .empty)
        }
        var changed = [entry.resource]
        if let other = world.resources[entry.resource].location {
            fields[generator.chance(0.5) ? .location : .contentLocation] =
                generator.chance(0.5) ? world.resources[other].uri : world.resources[other].path
            changed.append(other)
        }
        if generator.chance(0.3) {
            let group = generator.pick(["news", "prices"])
            fields[.groupInvalidation] = "\"\(group)\""
            changed += world.resources.indices.filter {
                world.resources[$0].groups.contains(group) && world.resources[$0].host == entry.host
            }
        }
        for resource in changed { world.resources[resource].change(at: world.now, &generator) }
        return TransportResponse(
            head: HTTPResponse(status: generator.pick([.noContent, .ok, .created, .seeOther]), headerFields: fields),
            body: .empty
        )
    }

    // MARK: Bodies

    private func response(
        _ status: Int,
        _ fields: HTTPFields,
        _ bytes: ByteBuffer,
        _ announcesLength: Bool,
        _ entry: OriginEntry
    ) -> TransportResponse {
        var fields = fields
        if announcesLength { fields[.contentLength] = "\(bytes.readableBytes)" }
        let isCut = bytes.readableBytes > 0 && fault(0.3)
        let isQuiet = isCut && announcesLength && generator.chance(0.3)
        let end = isCut ? generator.int(0...(bytes.readableBytes - 1)) : bytes.readableBytes
        var chunks: [ByteBuffer] = []
        var offset = 0
        while offset < end {
            let count = min(
                end - offset,
                generator.chance(0.3) ? generator.int(1...20) : generator.int(200...max(200, end / 4))
            )
            if let chunk = bytes.getSlice(at: offset, length: count) { chunks.append(chunk) }
            offset += count
        }
        let pauses = chunks.map { _ in
            !self.world.isCalm && generator.chance(self.world.configuration.slowness * 0.2)
                ? generator.int(1...4000) : 0
        }
        let (world, parts) = (self.world, chunks)
        openBodies += 1
        let place = Place { [self] in openBodies -= 1 }
        let body = BodyStream(length: announcesLength ? StatedLength(clamping: bytes.readableBytes) : nil) {
            var next = 0
            entry.body = .open
            return {
                withExtendedLifetime(place) {}
                guard next < parts.count else {
                    if isQuiet || !isCut {
                        entry.body = isCut ? .cutQuietly : .complete
                        return nil
                    }
                    entry.body = .broken
                    throw TransportError(code: .connectionClosed, message: "By chance: the body broke off.")
                }
                defer { next += 1 }
                if pauses[next] > 0 { try await world.durations.sleep(for: .milliseconds(pauses[next])) }
                return parts[next]
            }
        }
        return TransportResponse(head: HTTPResponse(status: .init(code: status), headerFields: fields), body: body)
    }

    /// Counts a body as open until its last reference is released.
    private final class Place: @unchecked Sendable {
        // Unchecked: see ``World``.
        private let release: () -> Void
        init(_ release: @escaping () -> Void) { self.release = release }
        deinit { release() }
    }

    // MARK: Conditions, written once more and simply

    private func isNotModified(_ fields: HTTPFields, _ resource: Resource, _ representation: Representation) -> Bool {
        if let condition = fields[.ifNoneMatch] {
            if condition == "*" { return true }
            guard let tag = resource.entityTag(representation) else { return false }
            return condition.split(separator: ",").contains { weak($0) == weak(tag[...]) }
        }
        guard let condition = fields[.ifModifiedSince], let since = world.dates[condition],
            let modified = resource.lastModified
        else { return false }
        return modified <= since
    }

    private func ifRangeHolds(_ fields: HTTPFields, _ resource: Resource, _ representation: Representation) -> Bool {
        guard let condition = fields[.ifRange] else { return true }
        if let date = world.dates[condition] { return date == resource.lastModified }
        return resource.tag == .strong && condition == resource.entityTag(representation)
    }
}

/// An entity tag without its weakness.
func weak(_ tag: Substring) -> String {
    let text = tag.trimmingPrefix { $0 == " " }
    return text.hasPrefix("W/") ? String(text.dropFirst(2)) : String(text)
}

/// `bytes=a-b`, `a-` or `-n`, one of them.
struct SimulatedRange {
    var first: Int?
    var last: Int?

    init?(_ text: String) {
        guard text.hasPrefix("bytes="), !text.contains(",") else { return nil }
        let parts = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        first = Int(parts[0])
        last = Int(parts[1])
        if first == nil && last == nil { return nil }
    }

    func resolved(_ length: Int) -> Range<Int>? {
        guard let first else {
            let count = min(last ?? 0, length)
            return count > 0 ? (length - count)..<length : nil
        }
        guard first < length else { return nil }
        let end = min(last ?? (length - 1), length - 1)
        return end >= first ? first..<(end + 1) : nil
    }
}

extension Resource {
    func representation(for request: HTTPFields) -> Representation {
        var variant = "-"
        if varies { variant = (request[.acceptLanguage] ?? "none").lowercased() }
        if isPersonal { variant = "p:" + (request[.authorization] ?? "") + "|" + (request[.cookie] ?? "") }
        return Representation(resource: number, version: version, variant: variant, status: status, length: length)
    }

    func entityTag(_ representation: Representation) -> String? {
        switch tag {
        case .none: nil
        case .strong: "\"\(representation.opaqueTag)\""
        case .weak: "W/\"\(representation.opaqueTag)\""
        }
    }
}

extension HTTPRequest.Method {
    var isSafeByName: Bool { self == .get || self == .head }
}
