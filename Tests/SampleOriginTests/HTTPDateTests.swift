import Testing

@testable import SampleOrigin

@Suite(.timeLimit(.minutes(20))) struct HTTPDateTests {
    @Test(
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_767_225_600, "Thu, 01 Jan 2026 00:00:00 GMT"),
        ] as [(Int64, String)]
    )
    func writesAndReadsIMFFixdate(seconds: Int64, text: String) {
        #expect(HTTPDate.string(secondsSince1970: seconds) == text)
        #expect(HTTPDate.parse(text) == seconds)
    }

    @Test(arguments: ["", "yesterday", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Now 1994 08:49:37 GMT"])
    func rejectsOtherText(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}
