import Foundation

/// The folder of libkrb5's plugins that `Scripts/install-packages` unpacked; nil where there is none.
let unpackedPlugins: String? = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let libraries = root.appending(path: ".build/unpacked/usr/lib").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? []
    return names.map { "\(libraries)/\($0)/krb5/plugins" }.first { FileManager.default.fileExists(atPath: $0) }
}()

/// Whether a plugin is unpacked or installed where Debian puts it.
func hasPlugin(_ file: String) -> Bool {
    if let unpackedPlugins, FileManager.default.fileExists(atPath: "\(unpackedPlugins)/\(file)") { return true }
    return hasInstalledPlugin(file)
}

/// Whether a plugin is where Debian puts it, so that programs find it by themselves.
func hasInstalledPlugin(_ file: String) -> Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
    return names.contains { FileManager.default.fileExists(atPath: "/usr/lib/\($0)/krb5/plugins/\(file)") }
}
