import Dispatch
import Foundation

extension ProfileSearch {
    /// The files and folders whose change may change what ``run()`` finds, whether or not they are there.
    package var places: [String] {
        guard explicitPaths.isEmpty else { return explicitPaths + ["\(systemDirectory)/\(ProfilePolicy.fileName)"] }
        return [systemDirectory] + (userDirectory.map { [$0] + links(in: $0) } ?? [])
    }

    /// What is found by one who has found something before: a named file that is gone is passed over, and one that can't be used is left
    /// out with a warning. The user chose a name when it was read first; what stands there later may be anybody's, so it must belong to
    /// ``user`` or ``systemOwner`` and be writable by nobody else.
    ///
    /// - Parameter inForce: What was found before: a file among them that can't be used as it is now stays as it was.
    package func runAgain(keeping inForce: [Profile] = []) -> ProfileSearchResult {
        guard !explicitPaths.isEmpty else { return found(keeping: inForce) }
        let trust = ProfileFile.Trust(owners: [user, systemOwner], followsLinks: true)
        let policy: ProfilePolicy
        do throws(ProfileError) {
            policy = try self.policy()
        } catch {
            return .unusable(error)
        }
        var succession = ProfileSuccession(of: inForce, policy: policy)
        for path in explicitPaths where ProfileFile.exists(path) {
            succession.take(path) { () throws(ProfileError) in
                try Profile(data: ProfileFile.read(path: path, trust: trust), source: path, policy: policy)
            }
        }
        return succession.finished()
    }

    /// ``run()``, on a thread that may wait for a disk and for the check of a signature.
    package func runAside() async throws(ProfileError) -> ProfileSearchResult {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                continuation.resume(returning: Result { () throws(ProfileError) in try run() })
            }
        }
        return try result.get()
    }

    /// What such a link leads to changes elsewhere.
    private func links(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.sorted().map { "\(directory)/\($0)" }
            .filter { (try? FileManager.default.destinationOfSymbolicLink(atPath: $0)) != nil }
    }
}
