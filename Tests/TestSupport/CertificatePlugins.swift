import Foundation

/// libkrb5's plugins that `Scripts/install-packages` unpacked, or else the machine's: where the one for certificates is. Nil where it is
/// nowhere.
public let certificatePlugins: String? = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    for libraries in [root.appending(path: ".build/unpacked/usr/lib").path, "/usr/lib"] {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? [] {
            let folder = "\(libraries)/\(name)/krb5/plugins"
            if FileManager.default.fileExists(atPath: "\(folder)/preauth/pkinit.so") { return folder }
        }
    }
    return nil
}()
