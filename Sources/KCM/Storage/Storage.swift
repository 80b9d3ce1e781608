/// The directory in which a server keeps the caches of its users: a folder for each, named by the user's number.
///
/// In a folder is a file for each cache, in version 4 of libkrb5's own format, so that `klist -c FILE:…` reads it. On the server's event
/// loop alone, once it is open.
final class Storage {
    private let directory: OpenDirectory

    /// Opens the directory, makes it where it is missing, and keeps other servers out.
    init(_ path: String) throws(StorageError) {
        directory = try OpenDirectory(path)
        try directory.lock()
    }

    /// Lets other servers in.
    func close() { directory.unlock() }

    /// The users who have a folder.
    func users() throws(StorageError) -> [UInt32] { try directory.names().compactMap { UInt32($0) }.sorted() }

    /// Removes the folder of a user who has no cache; what is put aside there stays.
    func removeFolder(of user: UInt32) { directory.removeFolder(String(user)) }

    /// The files of a user, in a folder that is made where it is missing. What is no folder is set aside.
    func user(_ user: UInt32) throws(StorageError) -> UserStorage {
        let name = String(user)
        do {
            return UserStorage(try directory.folder(name))
        } catch {
            guard error.code == .notADirectory, let newName = directory.setAside(name) else { throw error }
            let entry = DamagedEntry(path: "\(directory.path)/\(name)", reason: "it is no directory, or a link", newName: newName)
            return UserStorage(try directory.folder(name), damagedEntries: [entry])
        }
    }
}
