import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct ChildDescriptorsTests {
    @Test(arguments: [false, true]) func childInheritsNothing(_ isClosing: Bool) throws {
        let file = open("/dev/null", O_RDONLY)
        try #require(file >= 3)
        defer { close(file) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if isClosing { closeDescriptors(from: 3, in: &actions) }
        let arguments: [String] = ["/bin/sh", "-c", "test ! -e /dev/fd/\(file)"]
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        try #require(posix_spawn(&child, "/bin/sh", &actions, nil, &words, environ) == 0)
        var status: CInt = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
        // Without the call the child has the file, so the check can fail.
        #expect((status == 0) == isClosing)
    }
}
