package ksso.junit;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.BufferedReader;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** A running {@code ksso realm run}, and programs that use its realm. */
final class RealmProcess {
    private static final String INSTALL =
        "install the package ksso-realm, or name the program in the variable KSSO or with -Dksso=PATH.";
    /** A variable of the object "environment" in the JSON document; no other key of the document begins like this. */
    private static final Pattern VARIABLE = Pattern.compile("\"((?:KRB5|KSSO_)\\w*)\":\"((?:[^\"\\\\]|\\\\.)*)\"");
    /** The first realm's name or folder; the list of realms is the only one with such keys before that of web servers. */
    private static final String FIRST_REALM = "\"realms\":\\[\\{.*?\"%s\":\"((?:[^\"\\\\]|\\\\.)*)\"";

    private final String program;
    private final Process process;
    /** The messages of the process. The file has no name, so that nothing remains if this JVM is killed. */
    private final RandomAccessFile messages;
    private final String name;
    private final Path folder;
    private final Map<String, String> environment = new HashMap<>();

    /** Starts the realm, and returns once its servers answer. */
    RealmProcess(String program, List<String> arguments) throws IOException {
        this.program = program;
        var command = new ArrayList<>(List.of(program, "realm", "run"));
        command.addAll(arguments);
        // The pipe closes when this JVM exits for any reason, and then the realm stops.
        command.addAll(List.of("--json", "--until-input-ends"));
        var file = Files.createTempFile("ksso-junit-", "");
        try {
            messages = new RandomAccessFile(file.toFile(), "r");
            process = start(command, file);
        } finally {
            Files.delete(file);
        }
        var line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
        if (line == null) {
            var status = waitFor(process);
            var message = errors();
            throw new IllegalStateException(message.isEmpty() ? program + " realm run exited with status " + status : message);
        }
        VARIABLE.matcher(line).results().forEach(match -> environment.put(match.group(1), unescape(match.group(2))));
        name = ofFirstRealm("name", line);
        folder = Files.createDirectory(Path.of(ofFirstRealm("directory", line)).resolve("junit"));
        environment.put("KRB5CCNAME", "FILE:" + cache());
    }

    private static String ofFirstRealm(String key, String document) {
        var match = Pattern.compile(FIRST_REALM.formatted(key)).matcher(document);
        if (!match.find()) throw new IllegalStateException("ksso realm run prints no " + key + " of a realm: " + document);
        return unescape(match.group(1));
    }

    static String defaultProgram() {
        var property = System.getProperty("ksso");
        if (property != null) return property;
        var variable = System.getenv("KSSO");
        return variable != null && !variable.isEmpty() ? variable : "ksso";
    }

    String program() {
        return program;
    }

    Map<String, String> environment() {
        return Map.copyOf(environment);
    }

    /** The name of the first realm, in which names without a realm are. */
    String name() {
        return name;
    }

    /** The credential cache of the current test. */
    Path cache() {
        return folder.resolve("krb5cc");
    }

    /** A folder in that of the realm, which is removed with it, also if this JVM is killed. */
    Path folder() {
        return folder;
    }

    void removeTickets() {
        try {
            Files.deleteIfExists(cache());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Runs a program in the realm, and throws with its message if it fails. */
    void run(String input, String... command) {
        try {
            var builder = new ProcessBuilder(command).redirectErrorStream(true);
            builder.environment().putAll(environment);
            var running = builder.start();
            try (var stream = running.getOutputStream()) {
                stream.write(input.getBytes(StandardCharsets.UTF_8));
            } catch (IOException closed) {
                // The program has exited before it read its input; its output says why.
            }
            var output = new String(running.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (waitFor(running) != 0) throw new IllegalStateException(output);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    void stop() throws IOException {
        process.getOutputStream().close();
        var status = waitFor(process);
        var message = errors();
        messages.close();
        if (status != 0) throw new IllegalStateException(program + " realm run exited with status " + status + ": " + message);
    }

    private Process start(List<String> command, Path errors) throws IOException {
        try {
            return new ProcessBuilder(command).redirectError(errors.toFile()).start();
        } catch (IOException error) {
            messages.close();
            throw new IllegalStateException(program + " cannot be run: " + INSTALL, error);
        }
    }

    private String errors() throws IOException {
        var text = new byte[(int) messages.length()];
        messages.seek(0);
        messages.readFully(text);
        return new String(text, StandardCharsets.UTF_8).strip();
    }

    private static int waitFor(Process process) {
        try {
            if (process.waitFor(60, TimeUnit.SECONDS)) return process.exitValue();
            throw new IllegalStateException("A program of the realm does not exit: " + process.info().command().orElse("unknown"));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("The test was interrupted.", error);
        }
    }

    /** Returns a JSON string without its escapes; paths and addresses contain no others than these. */
    private static String unescape(String text) {
        return text.replaceAll("\\\\(.)", "$1");
    }
}
