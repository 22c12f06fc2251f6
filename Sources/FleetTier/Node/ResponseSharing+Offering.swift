import HTTPCache
import HTTPCacheSemantics
import Logging
import NIOCore

extension ResponseSharing {
    /// The time that a value is kept after it becomes stale, so that other nodes can still validate
    /// it.
    private static let staleTime = Duration.seconds(60)

    // MARK: Offers

    /// Puts a stored response on the server and releases the fetch's lease.
    func put(_ offer: FleetOffer) async {
        let lease = offer.lease.flatMap { leases.remove($0.number) }
        do {
            guard let body = try await body(of: offer.response) else {
                // The response has been purged, replaced or evicted in the meantime.
                counts.count(.dropped)
                return await giveBack(lease)
            }
            let isPut = try await put(offer, body, releasing: lease)
            counts.count(isPut ? .put : .older)
        } catch {
            counts.count(.failed)
            logger.debug("a response was not offered to other nodes", metadata: ["error": "\(error)"])
            await giveBack(lease)
        }
    }

    private func giveBack(_ lease: FetchLease?) async {
        guard let lease else { return }
        _ = try? await values.release(lease, within: settings.timeout)
    }

    private func body(of response: StoredResponse) async throws -> BodyStream? {
        if let body = response.content?.body { return BodyStream(body) }
        return try await store.openBody(of: response)
    }

    /// - Returns: whether the response was put. A later response is never replaced.
    private func put(_ offer: FleetOffer, _ body: BodyStream, releasing lease: FetchLease?) async throws -> Bool {
        var generator = SystemRandomNumberGenerator()
        let (key, draft) = (offer.draft.key, offer.draft)
        let names = namer.names(of: key)
        let lifetime = lifetime(of: draft)
        let content = try await self.content(of: body, offer.response.bodyLength, names, lifetime)
        let envelope = ResponseEnvelope(draft, fencingPosition: offer.fencingPosition, body: content, purges.offset)
        let vary = offer.selectingNames
        guard !vary.isEmpty else {
            let value = try sealer.seal(envelope, as: names.envelope, using: &generator)
            counts.count(sent: value.readableBytes)
            return try await values.put(
                value,
                as: names.envelope,
                for: lifetime,
                releasing: lease,
                within: settings.timeout
            )
        }
        let name = names.variant(vary, draft.head.selectingFields)
        let value = try sealer.seal(envelope, as: name, using: &generator)
        counts.count(sent: value.readableBytes)
        let isPut = try await values.put(value, as: name, for: lifetime, releasing: nil, within: settings.timeout)
        // Put the variant first, so that a reader that finds the list also finds the variant.
        guard var list = VaryList(key: key, names: vary, respondedAt: envelope.respondedAt) else { return isPut }
        if let present = try await values.values([names.envelope], within: settings.timeout)[0],
            case .varyList(let earlier)? = try? sealer.open(present, as: names.envelope, for: key)
        {
            list.add(earlier)
        }
        let listed = try sealer.seal(list, as: names.envelope, using: &generator)
        _ = try await values.put(
            listed,
            as: names.envelope,
            for: settings.longest,
            releasing: lease,
            within: settings.timeout
        )
        return isPut
    }

    /// Returns the content of an envelope: the body itself or, for a long body, a reference to its
    /// chunks, which this function puts.
    private func content(
        of body: BodyStream,
        _ length: Int64,
        _ names: ValueNames,
        _ lifetime: Duration
    ) async throws -> ResponseEnvelope.Body {
        var generator = SystemRandomNumberGenerator()
        var collected = ByteBuffer()
        guard length > Int64(ValueLimits.chunkLength) else {
            for try await part in body { collected.writeImmutableBuffer(part) }
            return .inline(collected)
        }
        let id = BodyID(using: &generator)
        var chunks = ChunkSealer(keys: keys, names: names, id: id, length: Int(length))
        var sealed: [SealedChunk] = []
        func send() async throws {
            guard !sealed.isEmpty else { return }
            counts.count(sent: sealed.reduce(0) { $0 + $1.bytes.readableBytes })
            // Chunks must outlive the envelope that refers to them.
            try await values.putChunks(sealed, for: lifetime + .seconds(30), within: settings.timeout)
            sealed = []
        }
        for try await part in body {
            collected.writeImmutableBuffer(part)
            while let next = chunks.nextLength, let chunk = collected.readSlice(length: next) {
                sealed.append(try chunks.seal(chunk, using: &generator))
                if sealed.count == ValueLimits.mostChunks { try await send() }
            }
            collected.discardReadBytes()
        }
        try await send()
        return .chunks(try chunks.finish())
    }

    private func lifetime(of draft: ResponseDraft) -> Duration {
        let left = max(0, draft.freshUntil.milliseconds(since: wall.now()))
        return min(settings.longest, .milliseconds(min(left, 1 << 50)) + Self.staleTime)
    }

    // MARK: Leases

    func perform(_ order: LeaseOrder) async {
        do {
            switch order {
            case .release(let lease): _ = try await values.release(lease, within: settings.timeout)
            case .pass(let name): try await values.pass(name, for: Self.passTime, within: settings.timeout)
            case .remove(let name): _ = try await values.extend([name], for: .milliseconds(1), within: settings.timeout)
            }
        } catch {
            // The lease expires on its own.
            logger.debug("a lease was not released", metadata: ["error": "\(error)"])
        }
    }

    /// Extends the leases of slow fetches, every third of the lease time.
    func renewLeases() async {
        while (try? await clock.sleep(for: settings.lease / 3, tolerance: nil)) != nil {
            for lease in leases.present(since: wall.now().adding(.zero - Self.renewalLimit)) {
                _ = try? await values.renew(lease, for: settings.lease, within: settings.timeout)
            }
        }
    }
}
