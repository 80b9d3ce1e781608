import Foundation
import Kerberos

/// The folder of libkrb5's plugins that `Scripts/install-packages` unpacked; nil if there is none.
let unpackedPlugins: String? = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let libraries = root.appending(path: ".build/unpacked/usr/lib").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? []
    return names.map { "\(libraries)/\($0)/krb5/plugins" }.first { FileManager.default.fileExists(atPath: $0) }
}()

/// Whether a plugin is unpacked or installed.
func hasPlugin(_ plugin: LibraryPlugin) -> Bool {
    if let unpackedPlugins, FileManager.default.fileExists(atPath: "\(unpackedPlugins)/\(plugin.file)") { return true }
    return plugin.isInstalled
}
