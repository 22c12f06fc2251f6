import LibC
import LocalSockets

extension SocketClaim {
    /// Claims the path of a control socket.
    ///
    /// - Throws: `SocketRefusal`
    convenience init(_ socket: ControlSocket) throws(SocketRefusal) { try self.init(socket.location) }

    /// The control socket.
    var socket: ControlSocket { ControlSocket(path: location.path) }

    /// Creates a link in the store's folder to a socket that is elsewhere, so that other processes
    /// find it.
    ///
    /// - Returns: whether other processes can now find the socket through the folder.
    func link(fromStore folder: String) -> Bool {
        let link = ControlSocket.path(in: folder)
        // The folder may have several paths, so the link's path may be that of the socket itself.
        // Do not replace it.
        if let found = FileIdentity(of: link) {
            if found == published { return true }
            switch found.kind {
            case S_IFLNK: unlink(link)
            case S_IFSOCK where ControlSocket(path: link).reach == .nobody: unlink(link)
            default: return false
            }
        }
        return symlink(socket.path, link) == 0
    }

    /// Removes the link from a store's folder if it leads to this socket.
    func removeLink(fromStore folder: String) {
        let link = ControlSocket.path(in: folder)
        if FileIdentity(of: link)?.kind == S_IFLNK, ControlSocket.inStore(folder) == socket { unlink(link) }
    }
}
