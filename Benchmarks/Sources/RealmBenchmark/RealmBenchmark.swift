import BenchmarkSupport
import Foundation

/// The time from nothing to the first ticket of a realm with a user, a service and a keytab, beside k5test and the programs alone, in one
/// run.
@main enum RealmBenchmark {
    static func main() async {
        do {
            let k5test = await PythonEnvironment.install("k5test", packages: ["k5test==0.10.4"], modules: ["k5test"])
            try await Comparison(k5test: k5test).run()
            try await Suites.run()
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }
}
