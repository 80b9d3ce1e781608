import Foundation

/// The folder of libkrb5's plugins that contains the one for certificates: unpacked by `Scripts/install-packages`, otherwise the system's.
/// Nil if neither contains it.
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
