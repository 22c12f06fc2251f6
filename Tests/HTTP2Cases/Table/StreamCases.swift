// RFC 9113 §5.1 and §5.3: states, identifiers and the number of streams.

extension HTTP2Cases {
    static func streamCases() -> [HTTP2Case] {
        idleCases() + halfClosedCases() + closedCases() + identifierCases() + concurrencyCases()
    }

    /// A window in which no content fits: a response stays under way, and its stream half-closed.
    static let noWindow = HTTP2Case.Opening.settings([(Setting.initialWindowSize, 0)])

    private static func idleCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §5.1 idle")
        table.add("DATA is an error", Frame.data(1, "a", ends: true), expect: .connectionError(.protocolError))
        table.add("RST_STREAM is an error", Frame.resetStream(1), expect: .connectionError(.protocolError))
        table.add("WINDOW_UPDATE is an error", Frame.windowUpdate(1, 100), expect: .connectionError(.protocolError))
        table.add("CONTINUATION is an error", Frame.continuation(1, .get()), expect: .connectionError(.protocolError))
        table.add("PRIORITY is accepted", Frame.priority(1), Frame.headers(1, .get()), expect: .ok(1))
        return table.cases
    }

    private static func halfClosedCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §5.1 half-closed (remote)")
        let request = Frame.headers(1, .get())
        table.add(
            "DATA is an error",
            request,
            Frame.data(1, "a", ends: true),
            opening: noWindow,
            expect: .streamError(1, .streamClosed)
        )
        table.add(
            "HEADERS are an error",
            request,
            Frame.headers(1, .get()),
            opening: noWindow,
            expect: .streamError(1, .streamClosed)
        )
        table.add(
            "CONTINUATION is an error",
            request,
            Frame.continuation(1, .get()),
            opening: noWindow,
            expect: .connectionError(.protocolError, .streamClosed)
        )
        table.add("WINDOW_UPDATE is accepted", request, Frame.windowUpdate(1, 100), opening: noWindow, expect: .ok(1))
        table.add(
            "PRIORITY is accepted",
            request,
            Frame.priority(1),
            Frame.windowUpdate(1, 100),
            opening: noWindow,
            expect: .ok(1)
        )
        table.add(
            "RST_STREAM is accepted",
            request,
            Frame.resetStream(1),
            Frame.headers(3, .get()),
            Frame.windowUpdate(3, 100),
            opening: noWindow,
            expect: .ok(3)
        )
        return table.cases
    }

    private static func closedCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §5.1 closed")
        let over: [HTTP2Case.Step] = [.send(Frame.headers(1, .get())), .end(1)]
        table.add(
            "WINDOW_UPDATE after the response is accepted",
            over + [.send(Frame.windowUpdate(1, 100))],
            expect: .usable
        )
        table.add("RST_STREAM after the response is accepted", over + [.send(Frame.resetStream(1))], expect: .usable)
        table.add("PRIORITY after the response is accepted", over + [.send(Frame.priority(1))], expect: .usable)
        // §6.1 asks for STREAM_CLOSED. §5.1 allows to process and discard frames of all closed
        // streams.
        let closed = Expectation.either([.connectionError(.streamClosed), .streamError(1, .streamClosed), .usable])
        table.add(
            "DATA after the response does no harm",
            over + [.send(Frame.data(1, "a", ends: true))],
            expect: closed
        )
        table.add(
            "HEADERS after the response do no harm",
            over + [.send(Frame.headers(1, .get()))],
            expect: .either([.connectionError(.streamClosed, .protocolError), .streamError(1, .streamClosed), .usable])
        )
        table.add(
            "CONTINUATION after the response is an error",
            over + [.send(Frame.continuation(1, .get()))],
            expect: .connectionError(.protocolError, .streamClosed)
        )
        let reset: [UInt8] = Frame.headers(1, .post(), ends: false) + Frame.resetStream(1)
        table.add(
            "DATA after the client's RST_STREAM does no harm",
            reset,
            Frame.data(1, "a", ends: true),
            expect: closed
        )
        table.add(
            "HEADERS after the client's RST_STREAM do no harm",
            reset,
            Frame.headers(1, .get()),
            expect: .either([.connectionError(.streamClosed, .protocolError), .streamError(1, .streamClosed), .usable])
        )
        table.add("a second RST_STREAM is accepted", reset, Frame.resetStream(1), expect: .usable)
        table.add(
            "HEADERS on a discarded stream change the table",
            reset,
            Frame.headers(3, .get("/", .field("x-kept", "1", .incremental))),
            Frame.headers(5, .get("/", .indexed(62))),
            expect: .ok(3, 5)
        )
        return table.cases
    }

    private static let ignoresLowerStreams = HTTP2Case.Defect.always(
        "The HEADERS are decoded and dropped, and the stream gets neither a response nor an error."
    )

    private static func identifierCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §5.1.1")
        table.add("an even stream is an error", Frame.headers(2, .get()), expect: .connectionError(.protocolError))
        table.add(
            "a lower stream is an error",
            [.send(Frame.headers(5, .get())), .end(5), .send(Frame.headers(3, .get()))],
            expect: .connectionError(.protocolError, .streamClosed),
            defect: ignoresLowerStreams
        )
        table.add(
            "a lower stream beside an open one is an error",
            Frame.headers(5, .post(), ends: false),
            Frame.headers(3, .get()),
            expect: .connectionError(.protocolError, .streamClosed),
            defect: ignoresLowerStreams
        )
        table.add("a skipped stream is accepted", Frame.headers(1, .get()), Frame.headers(7, .get()), expect: .ok(1, 7))
        table.add("the highest stream is accepted", Frame.headers(0x7FFF_FFFF, .get()), expect: .ok(0x7FFF_FFFF))
        return table.cases
    }

    private static func concurrencyCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §5.1.2")
        table.add(
            "thirty requests at once are served",
            (0..<30).flatMap { Frame.headers(2 * $0 + 1, .get()) },
            expect: .all((0..<30).map { .response(2 * $0 + 1, [200]) })
        )
        table.add(
            "a stream beyond the limit is refused",
            [
                .respond { seen in
                    let limit = min(seen.settings?[Setting.maxConcurrentStreams] ?? 100, 1_000)
                    return (0...limit).flatMap { Frame.headers(2 * $0 + 1, .get()) }
                }
            ],
            opening: noWindow,
            expect: .anyStreamError([.refusedStream, .protocolError])
        )
        table.add(
            "a refused stream changes the table",
            [
                .respond { seen in
                    let limit = min(seen.settings?[Setting.maxConcurrentStreams] ?? 100, 1_000)
                    let refused = Frame.headers(2 * limit + 1, .get("/", .field("x-kept", "1", .incremental)))
                    return (0..<limit).flatMap { Frame.headers(2 * $0 + 1, .get()) } + refused + Frame.resetStream(1)
                        + Frame.resetStream(3) + Frame.resetStream(5)
                },
                // Its permits are free once the server has seen the resets.
                .send(Frame.ping("reset!!!")), .await { $0.pings.contains("reset!!!") },
                .respond { seen in
                    let limit = min(seen.settings?[Setting.maxConcurrentStreams] ?? 100, 1_000)
                    let next = 2 * limit + 3
                    return Frame.headers(next, .get("/", .indexed(62))) + Frame.windowUpdate(next, 100)
                },
            ],
            opening: noWindow,
            expect: .either([
                .all([.anyStreamError([.refusedStream, .protocolError]), .someResponse(200)]),
                .connectionError(.protocolError),
            ])
        )
        return table.cases
    }
}
