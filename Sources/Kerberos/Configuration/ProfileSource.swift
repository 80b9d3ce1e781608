internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Answers libkrb5's profile lookups: the configuration's relations first, then those of the files, then the defaults.
final class ProfileSource {
    private let overlay: [[String]: [String]]
    private let overlayOfAllSections: [String: [String]]
    private let prepended: [[String]: [String]]
    private let defaults: [[String]: [String]]
    private let base: profile_t?

    init(
        overlay: [[String]: [String]],
        overlayOfAllSections: [String: [String]],
        prepended: [[String]: [String]],
        defaults: [[String]: [String]],
        base: profile_t?
    ) {
        self.overlay = overlay
        self.overlayOfAllSections = overlayOfAllSections
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
        addIteration(to: &table)
        return table
    }

    /// Lists the sections and relations of the files. The configuration's own relations need no list, because libkrb5 asks for them by
    /// name.
    private static func addIteration(to table: inout profile_vtable) {
        table.iterator_create = { data, names, flags, result in
            guard let data, let names, let result else { return Int(EINVAL) }
            guard let base = Unmanaged<ProfileSource>.fromOpaque(data).takeUnretainedValue().base else { return Int(PROF_NO_SECTION) }
            var iterator: UnsafeMutableRawPointer?
            let code = profile_iterator_create(base, names, flags, &iterator)
            guard code == 0 else { return code }
            result.pointee = Unmanaged.passRetained(Iteration(iterator)).toOpaque()
            return 0
        }
        table.iterator = { _, data, name, value in
            guard let data else { return Int(EINVAL) }
            // Frees itself at the end.
            return profile_iterator(&Unmanaged<Iteration>.fromOpaque(data).takeUnretainedValue().iterator, name, value)
        }
        table.iterator_free = { _, data in
            guard let data else { return }
            let iteration = Unmanaged<Iteration>.fromOpaque(data).takeRetainedValue()
            if iteration.iterator != nil { profile_iterator_free(&iteration.iterator) }
        }
        table.free_string = { _, text in profile_release_string(text) }
    }

    private final class Iteration {
        var iterator: UnsafeMutableRawPointer?

        init(_ iterator: UnsafeMutableRawPointer?) { self.iterator = iterator }
    }

    private func values(of names: UnsafePointer<UnsafePointer<CChar>?>) -> [String] {
        var path: [String] = []
        var next = names
        while let name = next.pointee {
            path.append(String(cString: name))
            next += 1
        }
        if let values = overlay[path] ?? path.last.flatMap({ overlayOfAllSections[$0] }) { return values }
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
