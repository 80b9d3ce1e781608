import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import javax.security.auth.login.LoginContext;
import javax.security.auth.login.LoginException;
import ksso.junit.KerberosRealm;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One realm for the class, and an empty credential cache for each test. */
class ProtectedPageTest {
    @RegisterExtension
    static final KerberosRealm realm = KerberosRealm.with().user("alice", "secret").user("bob", "bob: secret").faults().web();

    /** HttpURLConnection answers the challenge with the ticket. */
    static String page(KerberosRealm realm) throws Exception {
        try (var page = realm.url().resolve("/hello").toURL().openStream()) {
            return new String(page.readAllBytes(), StandardCharsets.UTF_8).strip();
        }
    }

    @Test
    void aSignedInUserGetsThePage() throws Exception {
        realm.signIn("alice");
        assertEquals("Hello alice@EXAMPLE.TEST", page(realm));
    }

    @Test
    void eachTestHasItsOwnUser() throws Exception {
        assertEquals("bob@EXAMPLE.TEST", realm.signIn("bob"));
        assertEquals("Hello bob@EXAMPLE.TEST", page(realm));
    }

    /** HttpClient never answers the challenge. HttpURLConnection would not answer it in any later test either, once it had no ticket. */
    @Test
    void withoutATicketThereIsNoPage() throws Exception {
        var request = HttpRequest.newBuilder(realm.url().resolve("/hello")).build();
        assertEquals(401, HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding()).statusCode());
        assertThrows(LoginException.class, () -> new LoginContext("com.sun.security.jgss.krb5.initiate").login());
    }

    @Test
    void aSignOutRemovesTheTicket() throws Exception {
        realm.signIn("alice");
        new LoginContext("com.sun.security.jgss.krb5.initiate").login();
        realm.signOut();
        assertThrows(LoginException.class, () -> new LoginContext("com.sun.security.jgss.krb5.initiate").login());
    }

    @Test
    void aWrongPasswordAndAFaultAreReported() {
        var wrong = assertThrows(IllegalStateException.class, () -> realm.signIn("alice", "wrong"));
        assertTrue(wrong.getMessage().contains("Password incorrect"), wrong.getMessage());
        realm.fault("refuse");
        var fault = assertThrows(IllegalStateException.class, () -> realm.signIn("alice"));
        realm.fault("pass");
        assertTrue(fault.getMessage().contains("Cannot contact any KDC"), fault.getMessage());
        realm.signIn("alice");
    }

    @Test
    void theKeytabHasTheKeysOfTheWebServer() {
        assertTrue(Files.exists(realm.keytab()));
    }

    @Nested
    class InANestedClass {
        @Test
        void theRealmIsThatOfTheOuterClass() throws Exception {
            realm.signIn("alice");
            assertEquals("Hello alice@EXAMPLE.TEST", page(realm));
        }
    }
}
