import Foundation

/// A shared library for child processes of tests: unpacked by `Scripts/install-packages`, or installed.
struct LoadableLibrary {
    let path: String
    /// The folder of the libraries that it depends on.
    let folder: String

    /// nss_wrapper, which resolves host names from a file.
    static let nameService = LoadableLibrary("libnss_wrapper.so")
    /// resolv_wrapper, which answers DNS queries from a file.
    static let resolver = LoadableLibrary("libresolv_wrapper.so")
    /// libfaketime, which sets the clock of one program.
    static let clock = LoadableLibrary("faketime/libfaketimeMT.so.1")
    /// libkrb5's PKINIT plugin, for sign-ins with certificates.
    static let pkinit = LoadableLibrary("krb5/plugins/preauth/pkinit.so")
    /// Whether the plugin is installed, so that every program finds it. A plugin that is only unpacked is not found.
    static let isPKINITInstalled = LoadableLibrary("krb5/plugins/preauth/pkinit.so", below: [""]) != nil
    /// The folder of libkrb5's plugins with the one for KDC proxies; nil if there is none.
    static let kdcProxyPlugins = LoadableLibrary("krb5/plugins/tls/k5tls.so").map { "\($0.folder)/krb5/plugins" }
    /// SoftHSM, which behaves as a smart card (PKCS #11).
    static let card = LoadableLibrary("softhsm/libsofthsm2.so")
    /// OpenSC's module for smart cards (PKCS #11).
    static let openSC = LoadableLibrary("opensc-pkcs11.so")
    /// vpcd, the driver of a virtual card reader. An installed one is hidden with the machine's drivers where it is used.
    static let readerDriver = LoadableLibrary("pcsc/drivers/serial/libifdvpcd.so", below: [repositoryFile(".build/unpacked")])
    /// gss-ntlmssp, the NTLM mechanism of GSSAPI.
    static let ntlm = LoadableLibrary("gssntlmssp/gssntlmssp.so")

    private init?(_ name: String, below roots: [String] = [repositoryFile(".build/unpacked"), ""]) {
        let folders = roots.flatMap { root in
            let libraries = "\(root)/usr/lib"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? []
            return [libraries] + names.sorted().map { "\(libraries)/\($0)" }  // a folder for each architecture
        }
        guard let folder = folders.first(where: { FileManager.default.fileExists(atPath: "\($0)/\(name)") }) else { return nil }
        path = "\(folder)/\(name)"
        self.folder = folder
    }
}
