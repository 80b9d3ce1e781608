extension TestRealm {
    /// What shows why something went wrong in the realm: names of files and what is in them now, empty ones left out.
    package func diagnosticFiles() -> [(name: String, text: String)] {
        let configuration = files
        let numbers = Array(0..<configuration.options.kdcCount)
        let paths =
            [configuration.logPath(nil)] + (numbers.count > 1 ? numbers.map(configuration.logPath) : [])
            + numbers.map { "\(directory)/\(DaemonWatcher.logName($0))" } + [tracePath, configurationPath]
            + numbers.map(configuration.kdcPath)
        return paths.compactMap { path in
            guard let text = try? String.contents(ofFile: path), !text.isEmpty else { return nil }
            return (String(path.dropFirst(directory.count + 1)), text)
        }
    }

    /// Checks that the programs and plugins are there that a realm is made of.
    ///
    /// - Parameter options: What the realm would start with: some of it needs more.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing`; the message names the Debian package.
    public static func checkPrograms(for options: TestRealmOptions = .init()) throws {
        try checkPrograms(for: options) { _ = try Program.path(of: $0) }
    }

    /// The same, with one's own look for a program, which throws where it is missing.
    package static func checkPrograms(for options: TestRealmOptions, _ find: (String) throws -> Void) throws {
        for program in ["krb5kdc", "kdb5_util", "kadmin.local", "kinit", "setsid"] { try find(program) }
        if options.acceptsPasswordChanges { try find("kadmind") }
        if options.acceptsCertificates {
            try find("openssl")
            _ = try LibraryModule.pkinit.modules(in: options.pluginDirectory)
        }
    }
}
