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

    /// Checks that the programs are there that a realm is made of.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `programMissing`; the message names the Debian package.
    @Sendable public static func checkPrograms() throws {
        for program in ["krb5kdc", "kdb5_util", "kadmin.local", "kinit"] { _ = try Program.path(of: program) }
    }
}
