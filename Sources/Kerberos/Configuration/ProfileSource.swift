internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Answers libkrb5's profile lookups: the configuration's relations first, then those of the files, then the defaults.
final class ProfileSource {
    private let overlay: [[String]: [String]]
    private let prepended: [[String]: [String]]
    private let defaults: [[String]: [String]]
    private let base: profile_t?

    init(overlay: [[String]: [String]], prepended: [[String]: [String]], defaults: [[String]: [String]], base: profile_t?) {
        self.overlay = overlay
        self.prepended = prepended
        self.defaults = defaults
        self.base = base
    }

    deinit {
        if let base { profile_release(base) }
    }

    /// The callbacks of `profile_init_vtable`. A copy of the profile shares this object and retains it.
    static var table: profile_vtable {
        var table = profile_vtable()
        table.minor_ver = 1
        table.get_values = { data, names, result in
            guard let data, let names, let result else { return Int(EINVAL) }
            let source = Unmanaged<ProfileSource>.fromOpaque(data).takeUnretainedValue()
            let values = source.values(of: names)
            guard !values.isEmpty else { return Int(PROF_NO_RELATION) }
            let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: values.count + 1)
            for (index, value) in values.enumerated() { list[index] = strdup(value) }
            list[values.count] = nil
            result.pointee = list
            return 0
        }
        table.free_values = { _, list in
            guard let list else { return }
            var next = list
            while let value = next.pointee {
                free(value)
                next += 1
            }
            list.deallocate()
        }
        table.cleanup = { data in
            if let data { Unmanaged<ProfileSource>.fromOpaque(data).release() }
        }
        table.copy = { data, copy in
            guard let data, let copy else { return Int(EINVAL) }
            copy.pointee = Unmanaged<ProfileSource>.fromOpaque(data).retain().toOpaque()
            return 0
        }
        return table
    }

    private func values(of names: UnsafePointer<UnsafePointer<CChar>?>) -> [String] {
        var path: [String] = []
        var next = names
        while let name = next.pointee {
            path.append(String(cString: name))
            next += 1
        }
        if let values = overlay[path] { return values }
        let first = prepended[path] ?? []
        // libkrb5 would try a KDC that is listed twice a second time before the next one.
        let values = first + baseValues(of: names).filter { !first.contains($0) }
        return values.isEmpty ? (defaults[path] ?? []) : values
    }

    private func baseValues(of names: UnsafePointer<UnsafePointer<CChar>?>) -> [String] {
        guard let base else { return [] }
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard profile_get_values(base, names, &list) == 0, let list else { return [] }
        defer { profile_free_list(list) }
        var values: [String] = []
        var next = list
        while let value = next.pointee {
            values.append(String(cString: value))
            next += 1
        }
        return values
    }
}
