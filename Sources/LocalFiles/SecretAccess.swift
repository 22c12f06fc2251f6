package import LibC

/// Who has access to a file that holds a secret: a token, a private key or a password.
///
/// One policy for all of them: the file belongs to the process's user or to root, only its owner
/// may change it, and only a group of the process, or root's group for a file of root, may read it
/// too. So a Secret of Kubernetes can be mounted with mode 0440, owner root and the pod's group,
/// and a credential of systemd (root, root's group, 0440, with an access control list) can be used.
/// A process of root accepts any owner and any group, because it can read every file, and checks
/// files for the user who will serve. docs/decisions/0079
package struct SecretAccess: Sendable, Hashable {
    /// The user and the groups of a process.
    package struct Reader: Sendable, Hashable {
        var user: uid_t
        var groups: Set<gid_t>

        package init(user: uid_t, groups: Set<gid_t>) { (self.user, self.groups) = (user, groups) }

        /// The user and the groups of this process.
        package static var current: Reader {
            var groups: Set<gid_t> = [getegid()]
            let count = getgroups(0, nil)
            if count > 0 {
                var list = [gid_t](repeating: 0, count: Int(clamping: count))
                groups.formUnion(list.prefix(Int(clamping: max(getgroups(count, &list), 0))))
            }
            return Reader(user: geteuid(), groups: groups)
        }
    }

    private let mode: mode_t
    private let owner: uid_t
    private let group: gid_t

    package init(mode: mode_t, owner: uid_t, group: gid_t) {
        (self.mode, self.owner, self.group) = (mode & 0o777, owner, group)
    }

    /// - Parameter status: the status of the open file.
    init(_ status: stat) { self.init(mode: status.st_mode, owner: status.st_uid, group: status.st_gid) }

    /// Why a process must not use the file; `nil` if it may.
    package func fault(of path: String, for reader: Reader) -> String? {
        let shown = "mode 0\(String(mode, radix: 8))"
        guard mode & 0o037 == 0 else {
            return "is accessible to other users (\(shown)): run 'chmod 600 \(path)', or mount it with mode 0440."
        }
        if reader.user == 0 { return nil }
        guard owner == reader.user || owner == 0 else {
            return
                "belongs to another user (\(owner)). It must belong to this process's user (\(reader.user)) or to root."
        }
        // With an access control list, the group's bits are the list's mask, and do not say that
        // the group may read. Only root can give a member to its group, and a list to its file.
        let isOfRoot = owner == 0 && group == 0
        guard mode & 0o040 == 0 || reader.groups.contains(group) || isOfRoot else {
            return
                "can be read by a group that this process is not in (group \(group), \(shown)): run 'chmod 600 \(path)'."
        }
        return nil
    }
}
