package ksso.junit;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A JUnit 5 extension that runs a private KDC, and a web server that requires a ticket, with {@code ksso realm run}.
 *
 * <p>In a static field, the realm is that of the test class, otherwise each test has its own. While it runs, the system properties make
 * this JVM's Kerberos use the realm and the credential cache of the current test, which is empty when the test starts.
 */
public final class KerberosRealm implements BeforeAllCallback, AfterAllCallback, BeforeEachCallback, AfterEachCallback {
    private final List<String> arguments = new ArrayList<>();
    private final Map<String, String> passwords = new LinkedHashMap<>();
    private String program;
    private RealmProcess process;
    private JavaKerberos settings;
    /** The class or test that started the realm and stops it. */
    private String owner;

    private KerberosRealm() {}

    /** Returns a realm without users and servers, to which the calls below add them. */
    public static KerberosRealm with() {
        return new KerberosRealm();
    }

    /** Adds a user. */
    public KerberosRealm user(String name, String password) {
        passwords.put(name, password);
        return option("--user", name + ":" + password);
    }

    /** Adds a service with a key in the keytab, such as HTTP/localhost. */
    public KerberosRealm service(String principal) {
        return option("--service", principal);
    }

    /** Starts a web server whose page /hello requires a ticket. */
    public KerberosRealm web() {
        return option("--web");
    }

    /** Lets tests start faults between clients and KDC. */
    public KerberosRealm faults() {
        return option("--fault", "pass");
    }

    /** Sets the realm's name; by default EXAMPLE.TEST. */
    public KerberosRealm named(String realm) {
        return option("--realm", realm);
    }

    /** Adds arguments of {@code ksso realm run}, such as --file and a plan. */
    public KerberosRealm option(String... words) {
        arguments.addAll(Arrays.asList(words));
        return this;
    }

    /** Sets the path of ksso; by default the system property ksso, the variable KSSO, or the program in PATH. */
    public KerberosRealm program(Path path) {
        program = path.toString();
        return this;
    }

    /** The URL of the first web server. */
    public URI url() {
        var url = environment().get("KSSO_REALM_URL");
        if (url == null) throw new IllegalStateException("The realm has no web server. Add one: KerberosRealm.with().web()");
        return URI.create(url);
    }

    /** The variables with which other programs use the realm, with the credential cache of the current test. */
    public Map<String, String> environment() {
        return running().environment();
    }

    /** The path of the keytab with the keys of the services. */
    public Path keytab() {
        return Path.of(environment().get("KRB5_KTNAME").replaceFirst("^FILE:", ""));
    }

    /** The full name of a user: alice@EXAMPLE.TEST. */
    public String principal(String user) {
        return user.contains("@") ? user : user + "@" + running().name();
    }

    /** Signs in a user to the credential cache of the current test, and returns the full name. */
    public String signIn(String user) {
        var password = passwords.get(user);
        if (password == null) throw new IllegalArgumentException("There is no user " + user + ". Add one: KerberosRealm.with().user(name, password)");
        return signIn(user, password);
    }

    /** Signs in with this password. */
    public String signIn(String user, String password) {
        running().run(password + "\n", "kinit", principal(user));
        return principal(user);
    }

    /** Removes the tickets of the current test. */
    public void signOut() {
        running().removeTickets();
    }

    /** Starts a fault, such as drop or delay=200ms; pass ends it. */
    public void fault(String fault, String... options) {
        change("fault", fault, options);
    }

    /** Sets the clock of the KDC, such as +10m. */
    public void clock(String offset) {
        change("clock", offset);
    }

    private void change(String command, String value, String... options) {
        var words = new ArrayList<>(List.of(running().program(), "realm", command, value));
        words.addAll(Arrays.asList(options));
        running().run("", words.toArray(String[]::new));
    }

    private RealmProcess running() {
        if (process == null) throw new IllegalStateException("The realm does not run. Annotate its field with @RegisterExtension.");
        return process;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        start(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        start(context);
        process.removeTickets();
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        if (process != null) process.removeTickets();
        stop(context);
    }

    @Override
    public void afterAll(ExtensionContext context) throws IOException {
        stop(context);
    }

    /** Nested classes use the realm of the class around them. */
    private void start(ExtensionContext context) throws IOException {
        if (process != null) return;
        process = new RealmProcess(program != null ? program : RealmProcess.defaultProgram(), arguments);
        owner = context.getUniqueId();
        settings = new JavaKerberos(process);
    }

    private void stop(ExtensionContext context) throws IOException {
        if (process == null || !context.getUniqueId().equals(owner)) return;
        var stopping = process;
        process = null;
        try {
            if (settings != null) settings.restore();
        } finally {
            settings = null;
            stopping.stop();
        }
    }
}
