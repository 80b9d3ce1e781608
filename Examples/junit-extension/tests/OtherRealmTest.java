import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.security.PrivilegedExceptionAction;
import javax.security.auth.Subject;
import javax.security.auth.login.LoginContext;
import ksso.junit.KerberosRealm;
import org.ietf.jgss.GSSCredential;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.Oid;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A realm for each test, in the JVM in which another class has used another realm. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class OtherRealmTest {
    private static String firstConfiguration;

    @RegisterExtension
    final KerberosRealm realm = KerberosRealm.with().named("OTHER.TEST").user("carol", "secret").service("svc/web.other.test").web();

    @Test
    @Order(1)
    void aSignedInUserGetsThePage() throws Exception {
        firstConfiguration = realm.environment().get("KRB5_CONFIG");
        realm.signIn("carol");
        assertEquals("Hello carol@OTHER.TEST", ProtectedPageTest.page(realm));
    }

    @Test
    @Order(2)
    void theNextTestHasAnotherRealm() throws Exception {
        assertNotEquals(firstConfiguration, realm.environment().get("KRB5_CONFIG"));
        realm.signIn("carol");
        assertEquals("Hello carol@OTHER.TEST", ProtectedPageTest.page(realm));
    }

    /** The login entries of both sides, as a program with its own protocol uses them. */
    @Test
    @Order(3)
    void aServiceInTheTestAcceptsATicket() throws Exception {
        realm.signIn("carol");
        var mechanism = new Oid("1.2.840.113554.1.2.2");
        var manager = GSSManager.getInstance();
        var service = manager.createName("svc/web.other.test@OTHER.TEST", new Oid("1.2.840.113554.1.2.2.1"));
        var client = manager.createContext(service, mechanism, null, 0);
        var login = new LoginContext("com.sun.security.jgss.krb5.accept");
        login.login();
        var server = Subject.doAs(login.getSubject(), (PrivilegedExceptionAction<org.ietf.jgss.GSSContext>) () ->
            manager.createContext(manager.createCredential(null, GSSCredential.DEFAULT_LIFETIME, mechanism, GSSCredential.ACCEPT_ONLY)));
        var token = new byte[0];
        while (!client.isEstablished() || !server.isEstablished()) {
            if (!client.isEstablished()) token = client.initSecContext(token, 0, token.length);
            if (token != null && !server.isEstablished()) token = server.acceptSecContext(token, 0, token.length);
        }
        assertEquals("carol@OTHER.TEST", server.getSrcName().toString());
    }
}
