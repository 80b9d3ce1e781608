#if os(Linux)
    #if canImport(Glibc)
        internal import Glibc
    #else
        internal import Musl
    #endif

    /// The filter of system calls of the process that evaluates PAC files (seccomp(2)). A call that is not listed fails with EPERM.
    ///
    /// The lists have what memory management, clocks, getaddrinfo(3) and loading its modules need. Of sockets, only those of IP and of
    /// the kernel's routing table can be created, so that neither an agent nor a key store can be reached through its Unix socket. Names
    /// that only a service with a Unix socket can resolve (nscd, sssd, Avahi) are therefore not found. TCP can be opened only by
    /// connect(2), which Landlock limits to the port of DNS. On a kernel that cannot restrict TCP ports, only UDP is possible, because the
    /// local proxy serves every process of this user.
    enum SystemCallFilter {
        #if arch(x86_64)
            private static let architecture: UInt32 = 0xC000_003E
            private static let numbers: [UInt32] = [
                0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 24, 25, 28, 35, 39,  // read … getpid
                42, 45, 47, 49, 51, 52, 55,  // connect … getsockopt
                60, 63, 72, 79, 89, 96, 98, 99, 100, 102, 104, 107, 108, 131, 186,  // exit … gettid
                201, 202, 204, 217, 219, 228, 229, 230, 231, 262, 267, 269, 271, 273, 299,  // time … recvmmsg
                309, 318, 324, 332, 334, 439,  // getcpu … faccessat2
            ]
            private static let (socket, openat, tgkill, prlimit): (UInt32, UInt32, UInt32, UInt32) = (41, 257, 234, 302)
            private static let setsockopt: UInt32 = 54
            /// sendto, sendmsg and sendmmsg, with the position of their flags.
            private static let sending: [(call: UInt32, flags: UInt32)] = [(44, 3), (46, 2), (307, 3)]
        #elseif arch(arm64)
            private static let architecture: UInt32 = 0xC000_00B7
            private static let numbers: [UInt32] = [
                17, 25, 29, 48, 57, 61, 62, 63, 64, 65, 66, 67, 73, 78, 79, 80, 93, 94, 98, 99,  // getcwd … set_robust_list
                101, 113, 114, 115, 123, 124, 128, 132, 134, 135, 139, 153, 160, 165, 168, 169,  // nanosleep … gettimeofday
                172, 174, 175, 176, 177, 178, 179, 200, 203, 204, 205, 207, 209, 212,  // getpid … recvmsg
                214, 215, 216, 222, 226, 233, 243, 278, 283, 291, 293, 439,  // brk … faccessat2
            ]
            private static let (socket, openat, tgkill, prlimit): (UInt32, UInt32, UInt32, UInt32) = (198, 56, 131, 261)
            private static let setsockopt: UInt32 = 208
            /// sendto, sendmsg and sendmmsg, with the position of their flags.
            private static let sending: [(call: UInt32, flags: UInt32)] = [(206, 3), (211, 2), (269, 3)]
        #else
            private static let architecture: UInt32 = 0
            private static let numbers: [UInt32] = []
            private static let (socket, openat, tgkill, prlimit): (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)
            private static let setsockopt: UInt32 = 0
            private static let sending: [(call: UInt32, flags: UInt32)] = []
        #endif

        // struct seccomp_data: the number of the call, the architecture, the instruction pointer, and six arguments of 64 bits.
        private static let (number, architectureField): (UInt32, UInt32) = (0, 4)
        private static func argument(_ index: UInt32) -> UInt32 { 16 + 8 * index }

        private enum Verdict: UInt32 {
            case allow = 0x7FFF_0000
            case kill = 0x8000_0000
            /// EPERM.
            case refuse = 0x0005_0001
            /// EAFNOSUPPORT, after which a resolver asks its next source.
            case refuseFamily = 0x0005_0061
        }

        /// Applies the filter to all threads; false if the kernel or the processor does not support it.
        ///
        /// - Parameter permitsTCP: Whether TCP sockets can be created.
        static func apply(_ call: SystemCall, permitsTCP: Bool) -> Bool {
            guard architecture != 0 else { return false }
            let instructions = program(permitsTCP: permitsTCP).map(\.word)
            return unsafe instructions.withUnsafeBytes { code in
                // struct sock_fprog: the number of instructions, padding, and their address.
                let header: [UInt64] = [UInt64(instructions.count), UInt64(UInt(bitPattern: code.baseAddress))]
                return unsafe header.withUnsafeBytes { call(SystemCall.seccomp, 1, 1, Int(bitPattern: $0.baseAddress)) == 0 }
            }
        }

        /// An instruction of the filter (struct sock_filter).
        private struct Instruction {
            /// The operation, the jumps if a condition is true or false, and the operand.
            let (code, whenTrue, whenFalse, operand): (UInt16, UInt8, UInt8, UInt32)

            var word: UInt64 { UInt64(code) | UInt64(whenTrue) << 16 | UInt64(whenFalse) << 24 | UInt64(operand) << 32 }

            private init(_ code: UInt16, _ operand: UInt32, _ whenTrue: UInt8 = 0, _ whenFalse: UInt8 = 0) {
                (self.code, self.whenTrue, self.whenFalse, self.operand) = (code, whenTrue, whenFalse, operand)
            }

            static func load(_ offset: UInt32) -> Instruction { Instruction(0x20, offset) }
            /// Skips the next instruction unless the loaded value is equal.
            static func ifEqual(_ value: UInt32) -> Instruction { Instruction(0x15, value, 0, 1) }
            /// Skips the next instruction unless the loaded value is at least this.
            static func ifAtLeast(_ value: UInt32) -> Instruction { Instruction(0x35, value, 0, 1) }
            /// Skips the next instruction unless the loaded value has one of these bits.
            static func ifAnyBit(_ bits: UInt32) -> Instruction { Instruction(0x45, bits, 0, 1) }
            /// Skips a number of instructions if the loaded value is not equal.
            static func unlessEqual(_ value: UInt32, skip count: Int) -> Instruction { Instruction(0x15, value, 0, UInt8(count)) }
            /// Keeps these bits of the loaded value.
            static func mask(_ bits: UInt32) -> Instruction { Instruction(0x54, bits) }
            /// Skips a number of instructions.
            static func skip(_ count: UInt32) -> Instruction { Instruction(0x05, count) }
            static func end(_ verdict: Verdict) -> Instruction { Instruction(0x06, verdict.rawValue) }
        }

        private static func program(permitsTCP: Bool) -> [Instruction] {
            var result = start + rule(for: socket, socketRule(permitsTCP: permitsTCP))
            // Neither writing, creating nor truncating: O_WRONLY, O_RDWR, O_CREAT, O_TRUNC and O_TMPFILE.
            result += rule(for: openat, [.load(argument(2)), .ifAnyBit(0x40_0243), .end(.refuse), .end(.allow)])
            // Signals, such as that of abort(3), and limits only of this process.
            let process = UInt32(getpid())
            result += rule(for: tgkill, [.load(argument(0)), .ifEqual(process), .end(.allow), .end(.refuse)])
            result += rule(for: prlimit, [.load(argument(0)), .ifEqual(0), .end(.allow), .end(.refuse)])
            // MSG_FASTOPEN opens a TCP connection that Landlock does not see.
            for (call, flags) in sending {
                result += rule(for: call, [.load(argument(flags)), .ifAnyBit(0x2000_0000), .end(.refuse), .end(.allow)])
            }
            // TCP_ULP can make a socket one of another protocol, which Landlock does not see.
            result += rule(for: setsockopt, [.load(argument(2)), .ifEqual(31), .end(.refuse), .end(.allow)])
            for number in numbers { result += [.ifEqual(number), .end(.allow)] }
            return result + [.end(.refuse)]
        }

        /// Ends the process for a call of another architecture, or of x32, because the same numbers mean other calls there.
        private static var start: [Instruction] {
            [
                .load(architectureField), .ifEqual(architecture), .skip(1), .end(.kill),
                .load(number), .ifAtLeast(0x4000_0000), .end(.kill),
            ]
        }

        /// AF_INET and AF_INET6 with SOCK_DGRAM and perhaps SOCK_STREAM, and AF_NETLINK with the protocol NETLINK_ROUTE, by which
        /// getaddrinfo(3) finds the address families in use.
        ///
        /// The protocols are the default, TCP and UDP, because Landlock's rules for ports are for TCP, and for neither MPTCP nor SCTP.
        private static func socketRule(permitsTCP: Bool) -> [Instruction] {
            // The upper bits of the type are flags.
            let types: [Instruction] =
                [.load(argument(1)), .mask(0xF)]
                + (permitsTCP ? [.ifEqual(1), .skip(3)] : []) + [.ifEqual(2), .skip(1), .end(.refuseFamily)]
            let protocols: [Instruction] =
                [.load(argument(2))] + permittedProtocols.flatMap { [.ifEqual($0), .end(.allow)] } + [.end(.refuseFamily)]
            return [
                .load(argument(0)), .unlessEqual(16, skip: 4), .load(argument(2)), .ifEqual(0), .end(.allow), .end(.refuseFamily),
                .ifEqual(2), .skip(3), .ifEqual(10), .skip(1), .end(.refuseFamily),
            ] + types + protocols
        }

        private static let permittedProtocols: [UInt32] = [0, 6, 17]

        /// Instructions for one call, which all end.
        private static func rule(for number: UInt32, _ instructions: [Instruction]) -> [Instruction] {
            [.unlessEqual(number, skip: instructions.count)] + instructions
        }
    }
#endif
