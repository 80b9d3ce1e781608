internal import Foundation
import SignOnPolicy
internal import SystemSupport

/// Checks the lists of programs: a Mac's bundle identifiers match no program of Linux, so a list may restrict nothing here.
extension PayloadChecker {
    /// The verdict on a list of programs that has no effect here; nil for any other key or list.
    func callerListVerdict(_ name: String, _ value: ProfileValue) -> KeyVerdict? {
        guard let list = CallerList(name, value), list.count == 0, !(list.permits && isStrict) else { return nil }
        return .notApplicable(reason: list.texts.isEmpty ? "the list is empty" : "its entries are identifiers of a Mac's programs")
    }

    /// The remarks on how many entries apply here, and what that means if not all do.
    func callerListAdvice() -> [ProfileAdvice] {
        let places = [
            (path.appending(key: CallerList.denying), CallerList(CallerList.denying, keys[CallerList.denying])),
            (dataPath.appending(key: CallerList.permitting), CallerList(CallerList.permitting, data[CallerList.permitting])),
        ]
        let remarks = places.flatMap { place, list in
            guard let list else { return [ProfileAdvice]() }
            let share = remark(on: list).map { [ProfileAdvice($0.severity, path: place, payloadIndex: index, $0.sentence)] } ?? []
            return share + (examinesMachine ? list.unmatched : []).map { ProfileAdvice(.warning, path: place, payloadIndex: index, $0) }
        }
        guard keys[Self.mode] != nil, data[CallerList.permitting] == nil else { return remarks }
        let sentence = "The key has no effect without \(CallerList.permitting) in ExtensionData."
        return remarks + [ProfileAdvice(.warning, path: path.appending(key: Self.mode), payloadIndex: index, sentence)]
    }

    private static let mode = "CredentialBundleIdACLMode"
    private var isStrict: Bool { keys[Self.mode]?.string == CallerListMode.strict.rawValue }
    private var data: [String: ProfileValue] { keys["ExtensionData"]?.dictionary ?? [:] }
    private var dataPath: ProfileKeyPath { path.appending(key: "ExtensionData") }

    private func remark(on list: CallerList) -> (severity: ProfileAdvice.Severity, sentence: String)? {
        if list.count == 0, list.permits {
            guard isStrict else {
                return (
                    .warning,
                    "\(list.share), so every program of the user may use the tickets. List programs such as /usr/bin/curl, or set "
                        + "\(Self.mode) to strict, which then permits none."
                )
            }
            let tools = data["includeKerberosAppsInBundleIdACL"]?.boolean == true ? " and the Kerberos tools" : ""
            return (.advice, "\(list.share), and \(Self.mode) is strict, so no program except ksso\(tools) may use the agent's tickets.")
        }
        guard let foreign = list.foreign else { return nil }
        let programs = ["no program", "only what that entry names"]
        let effect = list.count < 2 ? programs[list.count] : "only what those entries name"
        return (
            .advice, "\(list.share), so the list \(list.permits ? "permits" : "denies") \(effect). Entries such as \(foreign) are ignored."
        )
    }
}

/// A list of programs in a payload.
private struct CallerList {
    static let permitting = "credentialBundleIdACL"
    static let denying = "DeniedBundleIdentifiers"

    /// Whether the list permits programs; otherwise it denies them.
    let permits: Bool
    let texts: [String]

    /// Nil for the name of another key, and for a value of another type.
    init?(_ name: String, _ value: ProfileValue?) {
        guard [Self.permitting, Self.denying].contains(name), let texts = value?.strings else { return nil }
        permits = name == Self.permitting
        self.texts = texts
    }

    /// The number of entries that can match a program of Linux.
    var count: Int { texts.count { CredentialCaller($0) != nil } }
    /// The first entry that cannot.
    var foreign: String? { texts.first { CredentialCaller($0) == nil } }

    /// A text such as `1 of 2 entries applies on Linux`.
    var share: String {
        if texts.isEmpty { return "The list is empty" }
        let (isOne, isOnly) = (count == 1, texts.count == 1)
        return "\(count) of \(texts.count) \(isOnly ? "entry" : "entries") \(isOne || isOnly ? "applies" : "apply") on Linux"
    }

    /// The sentences about entries that match no process, judging by the files of this machine.
    var unmatched: [String] {
        texts.compactMap { text in
            if case .folder(let path) = CredentialCaller(text), FileStatus(path: String(path.dropLast()))?.isFile == true {
                return "\(text) is a file. To list it, omit the final slash."
            }
            guard case .executable(let path) = CredentialCaller(text), let status = FileStatus(path: path) else { return nil }
            if status.isDirectory { return "\(text) is a directory. To list the programs in it, write a final slash: \(text)/" }
            guard status.isFile, let file = FileHandle(forReadingAtPath: path), (try? file.read(upToCount: 2)) == Data("#!".utf8) else {
                return nil
            }
            return "\(text) is a script, and its process runs the interpreter. List its systemd unit, such as unit:backup.service, or the "
                + "interpreter with all its scripts."
        }
    }
}
