#if os(Linux)
    #if canImport(Glibc)
        internal import Glibc
    #else
        internal import Musl
    #endif

    /// The rules for files and ports of the process that evaluates PAC files (landlock(7)).
    ///
    /// A ticket cache in a file, a private key or the agent's socket must stay out of reach even if a script takes over the engine,
    /// which has seen no security update for many years.
    enum LandlockRules {
        /// What name resolution reads: libraries, the settings in /etc, and the files to which /etc/resolv.conf may link.
        private static let readable = [
            "/etc", "/usr", "/lib", "/lib64", "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/connman",
        ]
        private static let (createRuleset, addRule, restrictSelf) = (444, 445, 446)
        private static let (readFile, readDirectory) = (UInt64(1) << 2, UInt64(1) << 3)
        /// `O_PATH`, which glibc hides from strict C.
        private static let pathOnly: Int32 = 0x20_0000
        private static let connectTCP = UInt64(1) << 1

        /// Applies the rules that the kernel knows, and returns which.
        static func apply(_ call: SystemCall) -> [ProcessRestriction] {
            let version = call(createRuleset, 0, 0, 1)
            guard version >= 1 else { return [] }
            // Each version has more rights that a ruleset can handle: of files, of TCP ports, of abstract Unix sockets and signals.
            let fileRights: UInt64 =
                switch version {
                case 1: (1 << 13) - 1
                case 2: (1 << 14) - 1
                case 3, 4: (1 << 15) - 1
                default: (1 << 16) - 1
                }
            let portRights: UInt64 = version >= 4 ? 0b11 : 0
            let scopes: UInt64 = version >= 6 ? 0b11 : 0
            if portRights != 0, restrict([fileRights, portRights, scopes], size: version >= 6 ? 24 : 16, call) { return [.files, .ports] }
            return restrict([fileRights], size: 8, call) ? [.files] : []
        }

        /// Applies a ruleset (struct landlock_ruleset_attr); false if the kernel refuses a part of it.
        private static func restrict(_ attributes: [UInt64], size: Int, _ call: SystemCall) -> Bool {
            let ruleset = unsafe attributes.withUnsafeBytes { call(createRuleset, Int(bitPattern: $0.baseAddress), size, 0) }
            guard ruleset >= 0 else { return false }
            defer { close(Int32(ruleset)) }
            for path in readable { allowReading(path, ruleset, call) }
            if attributes.count > 1 {
                let rule: [UInt64] = [connectTCP, 53]
                let added = unsafe rule.withUnsafeBytes { call(addRule, ruleset, 2, Int(bitPattern: $0.baseAddress)) }
                guard added == 0 else { return false }
            }
            return call(restrictSelf, ruleset) == 0
        }

        /// Adds a rule for a directory. One that does not exist needs none.
        private static func allowReading(_ path: String, _ ruleset: Int, _ call: SystemCall) {
            let directory = unsafe open(path, pathOnly | O_CLOEXEC)
            guard directory >= 0 else { return }
            defer { close(directory) }
            // struct landlock_path_beneath_attr is packed: 64 bits of rights and a descriptor of 32 bits.
            let rights = readFile | readDirectory
            let rule: [UInt32] = [UInt32(truncatingIfNeeded: rights), UInt32(rights >> 32), UInt32(bitPattern: directory)]
            _ = unsafe rule.withUnsafeBytes { call(addRule, ruleset, 1, Int(bitPattern: $0.baseAddress)) }
        }
    }
#endif
