internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension ProcessRestriction {
    /// Takes from this process what the evaluation of a script does not need, and returns what succeeded. A kernel without Landlock
    /// is too old for `files` or `ports`; the rest works on every supported system.
    ///
    /// - Parameter memory: The memory in bytes that the process may use beyond its present memory.
    static func applyAll(memory: Int) -> [ProcessRestriction] {
        var applied: [ProcessRestriction] = []
        if limitResources(memory: memory) { applied.append(.resources) }
        #if os(Linux)
            guard let call = SystemCall() else { return applied }
            // Landlock and the filter require that the process can get no new privileges.
            guard call(SystemCall.prctl, 38, 1) == 0 else { return applied }
            applied.append(.privileges)
            applied += LandlockRules.apply(call)
            if SystemCallFilter.apply(call, permitsTCP: applied.contains(.ports)) { applied.append(.systemCalls) }
        #endif
        return applied
    }

    /// Terminates this process when it has used more processor time than now and this number of seconds.
    static func limitProcessorTime(seconds: Int) {
        var usage = rusage()
        #if canImport(Glibc)
            _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
            _ = unsafe getrusage(RUSAGE_SELF, &usage)
        #endif
        let used = Int(usage.ru_utime.tv_sec) + Int(usage.ru_stime.tv_sec)
        // Only the lower limit is set, so that it can be raised for the next question.
        _ = limit(RLIMIT_CPU, to: used + seconds + 1, isFinal: false)
    }

    private static func limitResources(memory: Int) -> Bool {
        let none = [RLIMIT_CORE, RLIMIT_FSIZE].map { limit($0, to: 0) }
        return limit(RLIMIT_NOFILE, to: 64) && limit(RLIMIT_DATA, to: privateMemory() + memory) && !none.contains(false)
    }

    #if canImport(Glibc)
        private typealias Resource = __rlimit_resource
    #else
        private typealias Resource = Int32
    #endif

    private static func limit(_ resource: Resource, to value: Int, isFinal: Bool = true) -> Bool {
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(resource.rawValue)
        #else
            let kind = resource
        #endif
        var limits = rlimit()
        guard unsafe getrlimit(kind, &limits) == 0 else { return false }
        limits.rlim_cur = min(rlim_t(value), limits.rlim_max)
        if isFinal { limits.rlim_max = limits.rlim_cur }
        return unsafe setrlimit(kind, &limits) == 0
    }

    /// The size of the memory that `RLIMIT_DATA` counts, in bytes; 256 MiB if the kernel does not say it.
    private static func privateMemory() -> Int {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.hasPrefix("VmData:") }
        let words = line?.split(whereSeparator: \.isWhitespace) ?? []
        return (words.count > 1 ? Int(words[1]).map { $0 << 10 } : nil) ?? 256 << 20
    }
}

#if os(Linux)
    /// The function syscall(2). Swift does not import it, because it has variable arguments.
    struct SystemCall {
        private typealias Function = @convention(c) (Int, Int, Int, Int, Int, Int) -> Int

        #if arch(arm64)
            static let prctl = 167
            static let seccomp = 277
        #else
            static let prctl = 157
            static let seccomp = 317
        #endif

        private let function: Function

        init?() {
            guard let function = DynamicLibrary.program.function("syscall", as: Function.self) else { return nil }
            self.function = function
        }

        /// Calls the kernel; -1 if the call fails.
        func callAsFunction(_ number: Int, _ first: Int = 0, _ second: Int = 0, _ third: Int = 0, _ fourth: Int = 0) -> Int {
            function(number, first, second, third, fourth, 0)
        }
    }
#endif
