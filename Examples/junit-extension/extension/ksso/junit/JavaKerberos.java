package ksso.junit;

import java.io.IOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import javax.security.auth.login.LoginException;

/** The system properties with which this JVM's Kerberos uses a realm. They apply to the whole JVM, so one realm at a time can have them. */
final class JavaKerberos {
    private static final String CONFIGURATION = "java.security.krb5.conf";

    private final Map<String, String> before = new HashMap<>();

    JavaKerberos(RealmProcess realm) throws IOException {
        var environment = realm.environment();
        var logins = realm.folder().resolve("login.conf");
        var module = "com.sun.security.auth.module.Krb5LoginModule required refreshKrb5Config=true doNotPrompt=true";
        var keytab = environment.get("KRB5_KTNAME").replaceFirst("^FILE:", "");
        // The names of the entries are those that the JDK uses. The cache is named here because Java cannot change its own environment.
        Files.writeString(logins, """
            com.sun.security.jgss.krb5.initiate {
                %1$s useTicketCache=true ticketCache="%2$s";
            };
            com.sun.security.jgss.krb5.accept {
                %1$s useKeyTab=true keyTab="%3$s" storeKey=true isInitiator=false principal="*";
            };
            """.formatted(module, realm.cache(), keytab));
        set(CONFIGURATION, environment.get("KRB5_CONFIG"));
        set("java.security.auth.login.config", logins.toString());
        set("javax.security.auth.useSubjectCredsOnly", "false");
        refresh();
    }

    /** Sets the properties to their former values. */
    void restore() {
        // The realm's logins are still set, with which the JDK reads the former krb5.conf.
        reset(CONFIGURATION);
        refresh();
        before.keySet().forEach(this::reset);
        Configuration.setConfiguration(null);
    }

    private void set(String name, String value) {
        before.put(name, System.setProperty(name, value));
    }

    private void reset(String name) {
        var value = before.get(name);
        if (value == null) System.clearProperty(name);
        else System.setProperty(name, value);
    }

    /** Makes the JDK read the file of logins and krb5.conf again, because another test may have used another realm. */
    private static void refresh() {
        Configuration.setConfiguration(null);
        try {
            // The module refreshes krb5.conf before it looks for a ticket. There is none.
            new LoginContext("com.sun.security.jgss.krb5.initiate").login();
        } catch (LoginException noTicket) {
            return;
        }
    }
}
