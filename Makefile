# The most important targets are `make demo` and `make test`.

PREFIX ?= /usr/local
DESTDIR ?=
KSSO = .build/debug/ksso
# SwiftPM passes a package's traits to the compiler in the order of a set, which is another one in each process, and compiles everything again
# if the order has changed: after each commit, for example. The variable makes the order constant. Programs and tests run without it.
STEADY_TRAITS = SWIFT_DETERMINISTIC_HASHING=1
# Running all tests in parallel would start more KDCs than a small machine can run.
TEST = swift test --disable-xctest --experimental-maximum-parallelization-width 6
# A sanitizer may deadlock, so the run has a time limit. It takes half an hour on two cores.
SANITIZED = timeout --kill-after=1m 2h $(TEST) --skip-build
DOCUMENTED = Kerberos ActiveDirectory SignOnPolicy HTTPNegotiate TLSChannelBinding ExtensionProfile KerberosEngine KerberosSSO NegotiateAsyncHTTPClient \
    NegotiateURLSession SSOAgentClient KerberosTesting KerberosTestingTraits

.PHONY: build demo test check bench soak docs programs install uninstall deb release packages compose-test system-test package-test examples interop \
    format measure clean

packages:
	@Scripts/install-packages

build: packages
	$(STEADY_TRAITS) swift build --product ksso
	$(STEADY_TRAITS) swift build --product ksso-realm

demo: build
	@Scripts/demo $(KSSO)

# Builds everything once and runs all tests, including those with a real KDC and a real Apache.
test: packages
	$(STEADY_TRAITS) swift build --build-tests
	$(TEST) --skip-build

# The long checks: the package on a booted machine, fuzzers and sanitizers. Most need a separate build.
check: packages
	Scripts/check
	$(MAKE) release
	Tests/Packages/check-release dist .build/release/ksso .build/release/ksso-realm
	Tests/Packages/run dist
	Tests/System/run .build/release/ksso
	! readelf -d .build/release/ksso .build/release/ksso-realm | grep 'NEEDED.*libswift' # no package provides it
	Tests/Consumers/run
	Examples/agent-client/check .build/release/ksso
	Examples/login-prompt/check .build/release/ksso
	$(MAKE) examples KSSO=.build/release/ksso
	KSSO=.build/release/ksso Benchmarks/run instructions
	Fuzzing/run 60
	$(STEADY_TRAITS) swift build --build-tests --disable-xctest --sanitize=address --scratch-path .build-address
	LSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/leak-sanitizer-suppressions" $(SANITIZED) --sanitize=address --scratch-path .build-address
	$(STEADY_TRAITS) swift build --build-tests --disable-xctest --sanitize=thread --scratch-path .build-thread
	TSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/thread-sanitizer-suppressions" \
	    $(SANITIZED) --sanitize=thread --scratch-path .build-thread

# All benchmarks and a table of their rows; BENCH="--json FILE SUITE" writes the rows to a file, or runs some suites.
bench: packages
	Benchmarks/run $(BENCH)

# Many programs use an agent while everything around it fails: make soak MINUTES=480.
soak: programs
	Scripts/soak $(MINUTES)

docs:
	@for target in $(DOCUMENTED); do \
	    echo "==> documentation of $$target"; \
	    $(STEADY_TRAITS) swift package generate-documentation --target $$target --warnings-as-errors >.build/documentation.log 2>&1 \
	        || { cat .build/documentation.log; exit 1; }; \
	done

# The Swift library is linked statically, so that the binaries run without Swift installed. All symbols are bound at start, so that the table
# of their addresses is read-only afterwards. Nothing is exported, and ICU's data for other languages is omitted: a third of the size.
RELEASE = --static-swift-stdlib -Xlinker -s -Xlinker -z -Xlinker now -Xlinker --version-script=$(CURDIR)/Packaging/exported-symbols
ICU_DATA = $(CURDIR)/.build/icu-data.o

programs:
	@Scripts/install-packages libkrb5-dev binutils python3
	@mkdir -p .build
	Scripts/icu-data $(ICU_DATA)
	version=$$(Scripts/version) && export KSSO_VERSION=$$version KSSO_ICU_DATA=$(ICU_DATA) && \
	    $(STEADY_TRAITS) swift build -c release --product ksso $(RELEASE) && \
	    $(STEADY_TRAITS) swift build -c release --product ksso-realm $(RELEASE)

# Builds nothing, so that root does not need Swift.
install:
	@for program in ksso ksso-realm; do \
	    test -x .build/release/$$program || { echo ".build/release/$$program does not exist: run make programs first." >&2; exit 1; }; \
	done
	Scripts/install-files .build/release/ksso $(PREFIX) $(DESTDIR)
	Scripts/install-files .build/release/ksso-realm $(PREFIX) $(DESTDIR)

uninstall:
	Scripts/install-files --remove ksso $(PREFIX) $(DESTDIR)
	Scripts/install-files --remove ksso-realm $(PREFIX) $(DESTDIR)

# Two Debian packages, ksso and ksso-realm, in dist; their paths are printed.
deb: programs
	@Scripts/install-packages dpkg-dev
	@rm -f dist/*.deb
	@Scripts/make-deb .build/release/ksso dist
	@Scripts/make-deb .build/release/ksso-realm dist

# All files of a release, in dist: the packages, a static agent-client, a Containerfile, a bill of materials and checksums.
release: programs
	@Scripts/install-packages dpkg-dev
	@Scripts/make-release .build/release dist

# The examples that need no separate build: tests of services in other languages, and the commands of the pages in Documentation.
examples: build
	Examples/shell/check $(KSSO)
	Examples/java/check $(KSSO)
	Examples/junit-extension/check $(KSSO)
	Examples/pytest-plugin/check $(KSSO)
	Documentation/testing/check $(KSSO)
	Examples/ansible/check $(KSSO)
	Scripts/check-pages $(KSSO)

# The package in a virtual machine: systemd, PAM, sshd and a KDC, an administrator and two users.
system-test: programs
	Tests/System/run .build/release/ksso

# Installs and uses the packages of dist in new Debian and Ubuntu systems.
package-test: deb
	Tests/Packages/run dist

compose-test: build
	Scripts/compose-test

# Tests every client with every KDC and server; see the page Interoperability of KerberosSSO's documentation.
interop: packages
	swift build --build-tests
	TEST='$(TEST) --skip-build' Scripts/interop

format:
	swift format --in-place --recursive --parallel --configuration .swift-format Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources \
	    Fuzzing/Package.swift Fuzzing/Sources Examples

# Prints statistics of the sources: the sizes of files and folders, and the types with the most stored properties.
measure:
	@Scripts/measure

clean:
	rm -rf dist .build .build-address .build-thread Benchmarks/.build Fuzzing/.build Examples/agent-client/.build Examples/login-prompt/.build Examples/pytest-plugin/.build Examples/junit-extension/.build
