import Foundation

extension ProfileSearch {
    /// The files and folders whose change may change what ``run()`` finds, whether or not they are there.
    package var places: [String] {
        guard explicitPaths.isEmpty else { return explicitPaths }
        return [systemDirectory] + (userDirectory.map { [$0] + links(in: $0) } ?? [])
    }

    /// What is found by one who has found something before: a named file that is gone is passed over, and one that can't be used is left out
    /// with a warning. The user chose a name when it was read first; what stands there later may be anybody's, so it must belong to ``user``
    /// or ``systemOwner`` and be writable by nobody else.
    package func runAgain() -> ProfileSearchResult {
        var collection = ProfileCollection()
        guard explicitPaths.isEmpty else {
            let trust = ProfileFile.Trust(owners: [user, systemOwner], followsLinks: true)
            for path in explicitPaths {
                do {
                    try collection.add(Profile(data: ProfileFile.read(path: path, trust: trust), source: path))
                } catch {
                    if ProfileFile.exists(path) { collection.reject(error) }
                }
            }
            return collection.finished()
        }
        return found()
    }

    /// What such a link leads to changes elsewhere.
    private func links(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.sorted().map { "\(directory)/\($0)" }
            .filter { (try? FileManager.default.destinationOfSymbolicLink(atPath: $0)) != nil }
    }
}
